// A stretch of a buffer, and how it is cut.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/int128.h"

namespace tulle::workload {

struct Range {
    uint64_t begin = 0;
    uint64_t end = 0;

    uint64_t size() const { return end - begin; }
    bool is_empty() const { return begin == end; }
    bool operator==(const Range&) const = default;
};

// The `index`-th of so many parts, whose sizes differ by one byte at most. Parts may be empty.
inline Range part(Range whole, uint64_t parts, uint64_t index) {
    const auto cut = [&](uint64_t i) {
        return whole.begin + static_cast<uint64_t>(base::uint128_t{whole.size()} * i / parts);
    };
    return {cut(index), cut(index + 1)};
}

// How many parts of at most so many bytes it takes: one even where there is nothing.
inline uint64_t parts_of(uint64_t bytes, uint64_t most) {
    return std::max<uint64_t>(1, bytes / most + (bytes % most != 0 ? 1 : 0));
}

}  // namespace tulle::workload
