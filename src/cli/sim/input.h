// From the words of the command line to what a simulation is given.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/setup.h"

namespace tulle::cli {

struct SimInput {
    // One of these.
    std::string scenario;
    std::string hpcc_config;
    std::string connection_matrix;
    std::string chakra;  // what the files are called without ".0.et"
    std::string simai;

    std::string profile;
    std::string topology;
    std::string paths;
    std::optional<uint64_t> seed;
    std::string congestion;          // an algorithm, or the file of one
    std::vector<std::string> set;    // "key=value"
    std::vector<std::string> taps;   // "A-B"
    std::vector<std::string> links;  // the same, for the page
    bool trace = false;
    bool skips = false;
    bool checks_skipping = false;

    // The file that says what is simulated.
    const std::string& source() const {
        return !scenario.empty()      ? scenario
               : !hpcc_config.empty() ? hpcc_config
               : !chakra.empty()      ? chakra
               : !simai.empty()       ? simai
                                      : connection_matrix;
    }
    bool is_trace() const { return !chakra.empty() || !simai.empty(); }
};

struct SimTask {
    sim::Setup setup;
    std::vector<uint32_t> links;     // cables that the page shows
    std::string text;                // of the scenario, or of what stands in for it
    std::vector<std::string> notes;  // a sentence for each thing in the input that has no effect
};

// What is wrong is one sentence; the run has not begun.
base::Result<SimTask> read_task(const SimInput& input);

}  // namespace tulle::cli
