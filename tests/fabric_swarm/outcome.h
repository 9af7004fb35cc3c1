// What must hold of a finished run.
#pragma once

#include <string>

#include "sim/result.h"
#include "sim/setup.h"

namespace tulle::fabric_swarm {

// What the engine's own accounts do not say, of one network.
struct Seen {
    base::Instant ended{};   // the last window in which anything happened
    uint64_t ecn_marks = 0;  // by adapters
};

// What is wrong, in one sentence; empty: nothing.
std::string check_result(const sim::Setup& setup, const sim::Result& result, const Seen& seen,
                         const Seen& seen_inside);

// Everything that a run found out, as one number.
uint64_t hash_of(const sim::Result& result);

}  // namespace tulle::fabric_swarm
