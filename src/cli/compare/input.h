// From the words of the command line to the runs of a comparison.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "report/compare/comparison.h"
#include "sim/setup.h"

namespace tulle::cli {

struct CompareInput {
    std::string scenario;  // empty: the one that is built in
    std::vector<std::string> fabrics;
    std::optional<uint64_t> seed;
    std::vector<std::string> set;         // "key=value"
    std::vector<std::string> sweeps;      // "key=a,b,c"; two are a grid
    std::vector<std::string> congestion;  // algorithms, or files of them; several are a sweep
    uint32_t seeds = 1;                   // from `seed` on
    bool trace = false;
    bool skips = false;
    bool checks_skipping = false;
};

struct ComparisonTask {
    std::vector<report::SweepAxis> axes;  // of a sweep
    std::vector<std::string> fabrics;     // of each run
    std::vector<std::string> values;      // of each run, of what is swept
    std::vector<sim::Setup> setups;
    std::string file;                // of the scenario, ...
    std::string text;                // ... and what it says
    std::vector<std::string> notes;  // a sentence for each setting that is of no use somewhere
};

// What is wrong is one sentence; no run has begun.
base::Result<ComparisonTask> read_comparison(const CompareInput& input);

}  // namespace tulle::cli
