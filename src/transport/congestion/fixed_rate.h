// A fixed rate for each queue pair, whatever the network says: for tests, and for limits that an
// operator sets.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace tulle::transport {

struct FixedRate {
    // Picoseconds a byte as a ratio, as base::Rate has it; the remainder is carried.
    uint32_t numerator = 0;
    uint32_t denominator = 1;
    uint32_t remainder = 0;

    base::Instant on_sent(base::Instant now, uint32_t bytes) {
        const uint64_t scaled = uint64_t{bytes} * numerator + remainder;
        remainder = static_cast<uint32_t>(scaled % denominator);
        return now + base::Duration{static_cast<int64_t>(scaled / denominator)};
    }
};

}  // namespace tulle::transport
