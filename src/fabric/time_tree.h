// The next instant at which a node's ports have something to do, and which port is first. A
// tournament tree: each source has a leaf with its next instant, and each inner place has the
// earlier of its two children. Setting a leaf walks up and touches one place per level, without a
// branch to mispredict. The last four are compared at once, which is cheaper than two more levels.
//
// A key is the instant and the number of the source. At one instant, sources therefore come in the
// order of their numbers, whatever happened before.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>

#include "base/check.h"
#include "base/hot.h"
#include "base/time.h"

namespace tulle::fabric {

class TimeTree {
public:
    static constexpr int kSourceBits = 13;
    static constexpr uint32_t kMaxSources = 1u << kSourceBits;
    // 2^50 picoseconds: nineteen minutes of simulated time.
    static constexpr base::Instant kHorizon{int64_t{1} << (63 - kSourceBits)};
    static constexpr uint64_t kNever = UINT64_MAX;

    explicit TimeTree(uint32_t sources)
        : leaves_(std::bit_ceil(std::max(sources, 2 * kTop))), keys_(new uint64_t[2 * leaves_]) {
        TULLE_CHECK(sources <= kMaxSources);
        std::fill_n(keys_.get(), 2 * leaves_, kNever);
    }

    // Instants from the horizon on, such as never(), become kNever.
    static uint64_t key_of(base::Instant at, uint32_t source) {
        return at < kHorizon ? static_cast<uint64_t>(at.ps) << kSourceBits | source : kNever;
    }

    void set(uint32_t source, base::Instant at) { set_key(source, key_of(at, source)); }
    // For an instant that is known to be before the horizon.
    static uint64_t near_key_of(base::Instant at, uint32_t source) {
        return static_cast<uint64_t>(at.ps) << kSourceBits | source;
    }
    void set_near(uint32_t source, base::Instant at) { set_key(source, near_key_of(at, source)); }
    void clear(uint32_t source) { set_key(source, kNever); }
    void set_key(uint32_t source, uint64_t key) {
        uint64_t* const keys = keys_.get();
        size_t place = leaves_ + source;
        keys[place] = key;
        do {
            key = std::min(key, keys[place ^ 1]);
            place /= 2;
            keys[place] = key;
        } while (place >= 2 * kTop);
        first_ = std::min(std::min(keys[kTop], keys[kTop + 1]),
                          std::min(keys[kTop + 2], keys[kTop + 3]));
    }

    static base::Instant instant_of(uint64_t key) {
        return {static_cast<int64_t>(key >> kSourceBits)};
    }
    static uint32_t source_of(uint64_t key) { return key & kSources; }
    // The greatest key of the same instant.
    static uint64_t end_of_instant(uint64_t key) { return key | kSources; }
    void prefetch() const { base::prefetch(keys_.get(), 2 * leaves_ * sizeof(uint64_t)); }
    uint64_t first_key() const { return first_; }
    base::Instant first_at() const {
        return first_ == kNever ? base::Instant::never() : instant_of(first_);
    }
    uint32_t first_source() const { return source_of(first_); }

private:
    static constexpr uint64_t kSources = kMaxSources - 1;
    static constexpr uint32_t kTop = 4;  // the first of the last four places, where walks end

    uint64_t first_ = kNever;
    size_t leaves_;
    std::unique_ptr<uint64_t[]> keys_;
};

}  // namespace tulle::fabric
