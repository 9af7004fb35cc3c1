// When does which of a node's ports have something to do next? A tournament: each source has a
// leaf with its next instant, each inner place the earlier of its two children. Setting a leaf
// walks up and touches one place a level, without a branch to mispredict.
//
// A key is the instant and the number of the source, so that at one instant sources come in the
// order of their numbers, whatever happened before.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/time.h"

namespace tulle::fabric {

class TimeTree {
public:
    static constexpr int kSourceBits = 14;
    static constexpr uint32_t kMaxSources = 1u << kSourceBits;
    // 2^49 picoseconds: nine minutes of simulated time.
    static constexpr base::Instant kHorizon{int64_t{1} << (63 - kSourceBits)};

    explicit TimeTree(uint32_t sources)
        : leaves_(std::bit_ceil(std::max(sources, 2u))), keys_(2 * leaves_, kNever) {
        TULLE_CHECK(sources <= kMaxSources);
    }

    void set(uint32_t source, base::Instant at) {
        uint64_t key = kNever;
        if (at < kHorizon) key = static_cast<uint64_t>(at.ps) << kSourceBits | source;
        size_t place = leaves_ + source;
        keys_[place] = key;
        while (place > 1) {
            key = std::min(key, keys_[place ^ 1]);
            place /= 2;
            if (keys_[place] == key) break;
            keys_[place] = key;
        }
    }

    base::Instant first_at() const {
        if (keys_[1] == kNever) return base::Instant::never();
        return {static_cast<int64_t>(keys_[1] >> kSourceBits)};
    }
    uint32_t first_source() const { return keys_[1] & (kMaxSources - 1); }

private:
    static constexpr uint64_t kNever = UINT64_MAX;

    size_t leaves_;
    std::vector<uint64_t> keys_;
};

}  // namespace tulle::fabric
