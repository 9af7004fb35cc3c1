// One number for a run: for all that was asked and all that was found.
//
// Two runs with one hash were given the same graph, settings, flows, program, faults and seed, and
// every figure that they found is the same. Names of scenarios and profiles do not count, nor what
// only watches (captures, timelines), nor how fast the engine was. The number is the same for every
// compiler and any number of threads.
#pragma once

#include "sim/result.h"
#include "sim/setup.h"

namespace tulle::sim {

// What was asked.
uint64_t setup_hash(const Setup& setup);
// What was asked and found. `result.hash` itself does not count.
uint64_t run_hash(const Setup& setup, const Result& result);

}  // namespace tulle::sim
