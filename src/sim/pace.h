// The pace of the streams of a phase, and whether it has settled.
//
// A stream is a sequence of periods: steps of a ring, or pieces of a tree. Its history keeps 8 to
// 16 instants that are evenly spread over all of it. A history thus takes constant memory, and its
// stretches get longer as it does.
//
// Streams of a ring feed each other, so in a steady state all have the same pace. If latency limits
// the pace, delays differ from hop to hop and travel round the ring: each stream is slow in turn,
// while the mean over all streams is already final. If one slow link limits it, the streams behind
// that link are slow all the time, and others are not slow yet. So a pace has settled if its mean
// over all streams did not change from one stretch to the next, and no stream was slower than that
// mean in both.
//
// In chains and trees nothing holds back a stream that feeds others: a stream is as slow as the one
// that feeds it, or slower. So streams are put into groups (PaceGroups): those that wait for each
// other or have the same pace. Each group has its own pace, and the distance between groups grows.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/time.h"

namespace tulle::sim {

class PaceHistory {
public:
    struct Stretch {
        base::Duration time{};
        uint64_t periods = 0;
    };

    // Notes the end of one more period.
    void add(base::Instant at);
    void clear() { *this = {}; }

    // Whether there are two stretches to compare.
    bool is_long_enough() const { return count_ >= kMost / 2 && span() * stride_ >= kLeastPeriods; }
    Stretch recent() const { return stretch(0); }
    Stretch before() const { return stretch(span()); }
    // The time of a period in the recent stretch.
    base::Duration pace() const {
        return recent().time / static_cast<int64_t>(std::max<uint64_t>(1, recent().periods));
    }
    // The last instant that is kept, and the number of periods up to it.
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

// The pace over all streams of a phase, or of a group.
class Pace {
public:
    // The history must be long enough.
    void add(const PaceHistory& history);
    uint64_t streams() const { return streams_; }

    // The mean time of a period in the recent stretches, and in those before.
    base::Duration mean() const { return {recent_ / std::max<int64_t>(1, recent_periods_)}; }
    base::Duration mean_before() const { return {before_ / std::max<int64_t>(1, before_periods_)}; }
    // The error bound of mean(): how far it still moved, and how much slower some stream is.
    base::Duration doubt() const;
    bool has_settled() const { return doubt().ps * kSettled <= mean().ps; }

    // The same for a group of which only a few periods are known: over both stretches. A stream
    // that stays behind is in another group, so lateness within a group is chance and not counted.
    base::Duration long_mean() const {
        return {(recent_ + before_) / std::max<int64_t>(1, recent_periods_ + before_periods_)};
    }
    base::Duration long_doubt() const { return moved() / 2; }
    bool is_one_group() const { return (moved() + lateness()).ps * kOneGroup <= mean().ps; }

private:
    static constexpr int64_t kSettled = 200;  // half a percent; chosen
    static constexpr int64_t kOneGroup = 20;  // five percent; chosen

    base::Duration moved() const;     // from one stretch to the next
    base::Duration lateness() const;  // of the slowest stream

    uint64_t streams_ = 0;
    int64_t recent_ = 0;
    int64_t recent_periods_ = 0;
    int64_t before_ = 0;
    int64_t before_periods_ = 0;
    int64_t slowest_ = 0;  // period of the slowest stream, in the faster of its two stretches
};

// Groups of streams that wait for each other or have the same pace.
class PaceGroups {
public:
    // Streams are numbered in the order of add(). Each is a group until it is joined with others.
    void add(const PaceHistory& history) {
        leader_.push_back(static_cast<uint32_t>(leader_.size()));
        histories_.push_back(&history);
    }
    void join_all() { std::ranges::fill(leader_, 0); }
    void join(uint32_t a, uint32_t b);
    static bool are_alike(const PaceHistory& a, const PaceHistory& b);
    // Computes the groups and their paces, once all joins are done.
    void add_up();

    uint32_t of(uint32_t stream) const { return group_[stream]; }
    const std::vector<Pace>& paces() const { return paces_; }
    // The time of a period of a group, and its error bound.
    base::Duration period(size_t group) const {
        return paces_.size() == 1 ? paces_[0].mean() : paces_[group].long_mean();
    }
    base::Duration doubt(size_t group) const {
        return paces_.size() == 1 ? paces_[0].doubt() : paces_[group].long_doubt();
    }

private:
    uint32_t leader(uint32_t stream);

    std::vector<uint32_t> leader_;
    std::vector<const PaceHistory*> histories_;
    std::vector<uint32_t> group_;
    std::vector<Pace> paces_;
};

}  // namespace tulle::sim
