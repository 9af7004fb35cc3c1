// `tulle subnet sweep`: brings a fabric up in virtual time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tulle::cli {

struct SweepOptions {
    std::string fabric;
    std::string engine;           // empty: chosen by the topology
    std::string options_file;     // as opensm.conf
    std::string partitions_file;  // as partitions.conf
    std::string json_file;
    std::optional<uint64_t> window;
    uint32_t faults = 0;  // cables between switches that break, one after the other
    uint32_t loss_per_million = 0;
    uint64_t seed = 1;
};

int sweep_subnet(const SweepOptions& options);

}  // namespace tulle::cli
