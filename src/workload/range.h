// A range of a buffer, and how to cut it.
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

// Part number `index` of `parts` parts, whose sizes differ by at most one byte. Parts may be empty.
inline Range part(Range whole, uint64_t parts, uint64_t index) {
    const auto cut = [&](uint64_t i) {
        return whole.begin + static_cast<uint64_t>(base::uint128_t{whole.size()} * i / parts);
    };
    return {cut(index), cut(index + 1)};
}

// The number of the part that has a byte, counted from the beginning of the whole.
inline uint64_t part_with(uint64_t size, uint64_t parts, uint64_t byte) {
    return static_cast<uint64_t>((base::uint128_t{byte + 1} * parts + size - 1) / size) - 1;
}

// The number of parts of at most `most` bytes each; at least one, even for no bytes.
inline uint64_t parts_of(uint64_t bytes, uint64_t most) {
    return std::max<uint64_t>(1, bytes / most + (bytes % most != 0 ? 1 : 0));
}

}  // namespace tulle::workload
