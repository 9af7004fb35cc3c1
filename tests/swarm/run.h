// Runs what a seed makes, until all work is done, with the model watching.
#pragma once

#include <cstdio>
#include <string>

#include "model.h"

namespace tulle::swarm {

struct Result {
    uint64_t hash = 0;    // of all that was sent, received and completed, and when
    std::string failure;  // empty if everything held
    Tally tally;
};

// With a trace, every packet, completion and post is told in a line.
Result run_seed(uint64_t seed, std::FILE* trace = nullptr);

}  // namespace tulle::swarm
