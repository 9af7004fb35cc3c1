// Turns the command line into the runs of a comparison.
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
    std::string scenario;  // empty: the built-in one
    std::vector<std::string> fabrics;
    std::optional<uint64_t> seed;
    std::vector<std::string> set;         // "key=value"
    std::vector<std::string> sweeps;      // "key=a,b,c"; two make a grid
    std::vector<std::string> congestion;  // names or files of algorithms; several make a sweep
    uint32_t seeds = 1;                   // from `seed` on
    bool trace = false;
    bool skips = false;
    bool checks_skipping = false;
};

struct ComparisonTask {
    std::vector<report::SweepAxis> axes;  // of a sweep
    std::vector<std::string> fabrics;     // of each run
    std::vector<std::string> values;      // swept values of each run
    std::vector<sim::Setup> setups;
    std::string file;                // of the scenario
    std::string text;                // of the scenario
    std::vector<std::string> notes;  // one sentence per setting that has no effect somewhere
};

// An error is one sentence; no run has begun.
base::Result<ComparisonTask> read_comparison(const CompareInput& input);

}  // namespace tulle::cli
