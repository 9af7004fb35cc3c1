// `tulle subnet sweep`: what it takes to bring a fabric up, in virtual time.
#pragma once

#include <cstdint>
#include <string>

namespace tulle::cli {

struct SweepOptions {
    std::string fabric;
    std::string engine;  // empty: the one that is made for the fabric's shape
    std::string json_file;
    uint32_t window = 64;
    uint32_t loss_per_million = 0;
    uint64_t seed = 1;
};

int sweep_subnet(const SweepOptions& options);

}  // namespace tulle::cli
