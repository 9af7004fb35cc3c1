// One seed: its setup, run in several ways, watched, and compared.
#pragma once

#include <string>

#include "sim/result.h"

namespace tulle::fabric_swarm {

struct Tally {
    uint64_t refused = 0;  // setups that the builder did not take
    uint64_t hops = 0;
    uint64_t flows = 0;
    uint64_t finished = 0;
    uint64_t stuck = 0;  // runs
    uint64_t stopped = 0;
    uint64_t deadlocks = 0;
    uint64_t dropped = 0;
    uint64_t pauses = 0;
    uint64_t credits = 0;
    uint64_t marked = 0;
    uint64_t trimmed = 0;
    uint64_t watchdogs = 0;
    uint64_t programs = 0;
    uint64_t inside = 0;  // programs with a network inside servers
    uint64_t phases = 0;
    uint64_t phases_finished = 0;
    uint64_t messages = 0;  // of programs
    uint64_t reduced = 0;

    Tally& operator+=(const Tally& other);
};

struct Outcome {
    std::string failure;  // empty: all holds
    uint64_t hash = 0;
    Tally tally;
};

Outcome run_seed(uint64_t seed, bool verbose);

}  // namespace tulle::fabric_swarm
