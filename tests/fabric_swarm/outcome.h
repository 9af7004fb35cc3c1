// What must hold of a finished run.
#pragma once

#include <string>

#include "sim/result.h"
#include "sim/setup.h"

namespace tulle::fabric_swarm {

// What is wrong, in one sentence; empty: nothing. `ended` is when the last window did.
std::string check_result(const sim::Setup& setup, const sim::Result& result, base::Instant ended);

// Everything that a run found out, as one number.
uint64_t hash_of(const sim::Result& result);

}  // namespace tulle::fabric_swarm
