// When two partition keys belong together (IBTA vol 1, 10.9.3).
#pragma once

#include "wire/ids.h"

namespace tulle::wire {

inline constexpr uint16_t kFullMember = 0x8000;
inline constexpr uint16_t kPartitionNumber = 0x7fff;

constexpr bool is_full_member(PKey key) {
    return (key.value & kFullMember) != 0;
}

// Their numbers are the same, and one end at least is a full member.
constexpr bool partitions_match(PKey a, PKey b) {
    return ((a.value ^ b.value) & kPartitionNumber) == 0 &&
           ((a.value | b.value) & kFullMember) != 0;
}

}  // namespace tulle::wire
