// How fast the streams of a phase go on, and whether that has settled.
//
// A stream ends one period after the other: a step of a ring, a piece of a tree. Its history keeps
// 8 to 16 instants that are evenly spread over all of it, so recent stretches grow with what is
// known and a history takes the same memory however long it is.
//
// Streams of a phase feed each other, so in a steady state all have the same pace. Where latency
// decides, delays differ from hop to hop and travel round: now this stream is slow, now that, while
// the mean over all is what it will be. Where one slow link decides, those behind it are slow all
// the time, and others are not slow yet. So a pace has settled if its mean over all streams did not
// change from one stretch to the next, and no stream was slower than that mean in both.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/time.h"

namespace tulle::sim {

class PaceHistory {
public:
    struct Stretch {
        base::Duration time{};
        uint64_t periods = 0;
    };

    // One more period has ended.
    void add(base::Instant at);
    void clear() { *this = {}; }

    // Whether there are two stretches to compare.
    bool is_long_enough() const { return count_ >= kMost / 2 && span() * stride_ >= kLeastPeriods; }
    Stretch recent() const { return stretch(0); }
    Stretch before() const { return stretch(span()); }
    // The last instant that is kept, and the periods until then.
    base::Instant last() const { return count_ == 0 ? base::Instant{} : at_[count_ - 1]; }
    uint64_t periods() const { return uint64_t{count_} * stride_; }

private:
    static constexpr uint32_t kMost = 16;
    static constexpr uint64_t kLeastPeriods = 4;  // of a stretch; chosen

    uint32_t span() const { return count_ / 3; }
    Stretch stretch(uint32_t back) const;

    uint64_t seen_ = 0;
    uint64_t stride_ = 1;  // periods between two instants
    uint32_t count_ = 0;
    std::array<base::Instant, kMost> at_{};
};

// What all streams of a phase say together.
class Pace {
public:
    // The history is long enough.
    void add(const PaceHistory& history);
    uint64_t streams() const { return streams_; }

    // Both of what a period takes.
    base::Duration mean() const { return {recent_ / std::max<int64_t>(1, recent_periods_)}; }
    base::Duration mean_before() const { return {before_ / std::max<int64_t>(1, before_periods_)}; }
    // By how much it may be wrong: how far it still moved, and how much slower some stream is.
    base::Duration doubt() const;
    bool has_settled() const { return doubt().ps * kSettled <= mean().ps; }

private:
    static constexpr int64_t kSettled = 200;  // half a percent; chosen

    uint64_t streams_ = 0;
    int64_t recent_ = 0;
    int64_t recent_periods_ = 0;
    int64_t before_ = 0;
    int64_t before_periods_ = 0;
    int64_t slowest_ = 0;  // period of a stream, in its better stretch
};

}  // namespace tulle::sim
