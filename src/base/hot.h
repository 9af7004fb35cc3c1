// The path of a packet is written as several functions and compiled as one: calls took a third of
// all instructions per hop.
#pragma once

#include <cstddef>

#define TULLE_HOT [[gnu::always_inline]] inline

namespace tulle::base {

// Prefetches into the second-level cache; the first level is too small for it beside the data in
// use. Without the empty volatile instruction the compiler sees no effect and removes calls of
// functions that only prefetch.
TULLE_HOT void prefetch(const void* address) {
    __builtin_prefetch(address, 0, 2);
    asm volatile("");
}
// The same for all cache lines of an object.
TULLE_HOT void prefetch(const void* address, size_t bytes) {
    constexpr size_t kLine = 64;
    for (size_t i = 0; i < bytes; i += kLine) prefetch(static_cast<const std::byte*>(address) + i);
}

}  // namespace tulle::base
