// The way of a packet is one function to the machine and several to the reader: a call costs as
// much as what most of them do (a third of all instructions a hop).
#pragma once

#include <cstddef>

#define TULLE_HOT [[gnu::always_inline]] inline

namespace tulle::base {

// Asks for memory that will be used soon, into the second-level cache: the first is too small for
// what others will need beside what is needed now. The empty instruction is there to be volatile: a
// function that only prefetches has no effect that the compiler knows of, and calls of it vanish.
TULLE_HOT void prefetch(const void* address) {
    __builtin_prefetch(address, 0, 2);
    asm volatile("");
}
// The same for all lines of an object.
TULLE_HOT void prefetch(const void* address, size_t bytes) {
    constexpr size_t kLine = 64;
    for (size_t i = 0; i < bytes; i += kLine) prefetch(static_cast<const std::byte*>(address) + i);
}

}  // namespace tulle::base
