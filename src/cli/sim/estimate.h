// Estimates the cost of runs before they begin: hops, seconds, memory. Hops follow from sizes, MTU
// and path lengths; the cost of a hop and of a queue pair was measured. Congestion, losses and
// pauses are not foreseen, so the estimate is good to a factor of two or three. It warns users who
// would otherwise wait for hours or run out of memory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/setup.h"

namespace tulle::cli {

struct Estimate {
    uint64_t hops = 0;
    uint64_t seconds = 0;
    uint64_t memory_bytes = 0;  // in addition to what is in use now
};

// How the runs are executed.
struct Way {
    uint32_t threads = 1;  // of each run
    uint32_t workers = 1;  // threads of all runs together
    uint32_t passes = 1;   // 2 if the report says where the time went
    bool keeps_trace = true;
};

Estimate estimate(std::span<const sim::Setup> setups, const Way& way);

// A warning if the runs take more than a minute, or more memory than is available.
std::optional<std::string> warning(const Estimate& estimate, uint64_t memory_available);

// Prints the warning on standard error.
void warn_of_cost(std::string_view command, const Estimate& estimate);

}  // namespace tulle::cli
