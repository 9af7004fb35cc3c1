// What runs will cost before they begin: hops, seconds, memory. Hops follow from sizes, MTU and the
// length of paths; what a hop and a queue pair cost was measured. Congestion, losses and pauses are
// not foreseen, so it is a guess, good to a factor of two or three, for whoever would otherwise
// wait for hours or fill the machine's memory.
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
    uint64_t memory_bytes = 0;  // more than is in use now
};

// How runs are run.
struct Way {
    uint32_t threads = 1;  // of each
    uint32_t workers = 1;  // threads of all together
    uint32_t passes = 1;   // finding out where the time went takes a second one
    bool keeps_trace = true;
};

Estimate estimate(std::span<const sim::Setup> setups, const Way& way);

// A sentence where it takes more than a minute, or more memory than is there; none otherwise.
std::optional<std::string> warning(const Estimate& estimate, uint64_t memory_available);

// Says it on standard error.
void warn_of_cost(std::string_view command, const Estimate& estimate);

}  // namespace tulle::cli
