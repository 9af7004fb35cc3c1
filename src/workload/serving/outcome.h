// What comes of serving, for whoever keeps it: small, since results include it.
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
    uint64_t sequences = 0;      // answers of all steps: over steps, the batch on average
    base::Duration computing{};  // of schedulers' ranks, summed up
    base::Duration saying{};     // collectives of layers, likewise
};

// A gated task begins: picoseconds of computing, or bytes of a message.
struct ServingRelease {
    uint32_t task = 0;
    uint64_t amount = 0;
};

}  // namespace tulle::workload
