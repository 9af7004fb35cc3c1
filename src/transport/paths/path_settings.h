// Which paths a sender uses: how many entropy values, and who gets the next packet.
#pragma once

#include <cstdint>

namespace tulle::transport {

enum class PathPolicy : uint8_t {
    one,         // all packets of a queue pair have one entropy value, as RC has it
    oblivious,   // all values in turn, in another order each round
    bitmap,      // the same, but values that met trouble are left out for a while
    reps,        // values whose packets came back unmarked go again; others at random
    round_trip,  // of two values at random the one with the shorter round trip, a few packets long
};

struct PathSettings {
    PathPolicy policy = PathPolicy::one;
    uint32_t count = 64;  // entropy values, a power of two

    bool are_several() const { return policy != PathPolicy::one; }
};

}  // namespace tulle::transport
