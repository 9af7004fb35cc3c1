// Turns the command line into the setup of a simulation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "scenario/stand_ins.h"
#include "sim/setup.h"

namespace tulle::cli {

struct SimInput {
    // Exactly one of these is given.
    std::string scenario;
    std::string hpcc_config;
    std::string connection_matrix;
    std::string chakra;  // the common prefix of the files, without ".0.et"
    std::string simai;

    std::string profile;
    std::string topology;
    std::string paths;
    std::optional<uint64_t> seed;
    std::string congestion;          // the name or the file of an algorithm
    std::vector<std::string> set;    // "key=value"
    std::vector<std::string> taps;   // "A-B"
    std::vector<std::string> links;  // the same, for the page
    bool trace = false;
    bool skips = false;
    bool checks_skipping = false;
    uint64_t most_packets = scenario::kMostPackets;
    bool no_reuse = false;

    // The file that describes what is simulated.
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
    std::vector<uint32_t> links;     // cables to show on the page
    std::string text;                // of the scenario, or of the file used instead
    std::vector<std::string> notes;  // one sentence per input that has no effect
};

// An error is one sentence; the run has not begun.
base::Result<SimTask> read_task(const SimInput& input);

}  // namespace tulle::cli
