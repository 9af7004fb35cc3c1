// A hash of a run: of its whole setup and its whole result.
//
// Two runs with the same hash had the same graph, settings, flows, program, faults and seed, and
// found the same figures. The hash leaves out the names of scenarios and profiles, settings that
// only observe (captures, timelines), and the speed of the engine. It is the same for every
// compiler and any number of threads.
#pragma once

#include "sim/result.h"
#include "sim/setup.h"

namespace tulle::sim {

// The hash of a setup.
uint64_t setup_hash(const Setup& setup);
// The hash of a setup and its result, without `result.hash` itself.
uint64_t run_hash(const Setup& setup, const Result& result);

}  // namespace tulle::sim
