// A sender's paths: the number of entropy values, and how the next packet's value is chosen.
#pragma once

#include <cstdint>

namespace tulle::transport {

enum class PathPolicy : uint8_t {
    one,         // one entropy value for all packets of a queue pair, as in RC
    oblivious,   // all values in turn, in a new order each round
    bitmap,      // the same, but values with trouble are left out for a while
    reps,        // reuses values whose packets came back unmarked; others at random
    round_trip,  // the value with the shorter round trip of two random ones, for a few packets
};

struct PathSettings {
    PathPolicy policy = PathPolicy::one;
    uint32_t count = 64;  // entropy values, a power of two

    bool are_several() const { return policy != PathPolicy::one; }
};

}  // namespace tulle::transport
