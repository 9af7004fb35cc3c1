// The results of serving; small, because the results of a run include them.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"

namespace tulle::workload {

struct RequestOutcome {
    base::Instant arrival{};
    base::Instant first_token{};
    base::Instant last_token{};
    bool finished = false;
};

struct ServingOutcome {
    std::vector<RequestOutcome> requests;
    std::vector<uint64_t> gaps;  // picoseconds between tokens of a request; sorted
    uint64_t steps = 0;
    uint64_t sequences = 0;      // sum over steps; divided by steps: the average batch
    base::Duration computing{};  // sum over the schedulers' ranks
    base::Duration saying{};     // collectives of layers, summed likewise
};

// Starts a gated task with an amount: picoseconds of computing, or bytes of a message.
struct ServingRelease {
    uint32_t task = 0;
    uint64_t amount = 0;
};

}  // namespace tulle::workload
