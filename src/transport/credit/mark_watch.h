// Reduces a receiver's grants if its packets meet congestion on the way (RCCC; uet-htsim,
// sim/oversubscribed_cc.cpp). Once per round trip it evaluates the fraction of marked packets and
// the number of trimmed ones. It has no timer: round trips without packets are processed when the
// next packet arrives.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"
#include "transport/congestion/rccc.h"

namespace tulle::transport {

class MarkWatch {
public:
    // The fraction of the line to grant, in millionths.
    uint32_t part() const { return part_; }

    void count(base::Instant now, base::Duration round_trip, bool is_marked, bool is_trimmed) {
        while (now - looked_at_ >= round_trip) look(now, round_trip);
        ++packets_;
        trimmed_ += is_trimmed ? 1 : 0;
        marked_ += is_marked && !is_trimmed ? 1 : 0;
    }

private:
    // uet-htsim, OversubscribedCC.
    static constexpr uint32_t kTarget = 300'000;
    static constexpr uint32_t kStep = 10'000;
    static constexpr uint32_t kLeast = 10'000;
    static constexpr uint32_t kMostDoublings = 7;  // of the step, which then is a whole line

    void look(base::Instant now, base::Duration round_trip) {
        const uint32_t whole = packets_ - trimmed_;
        const auto fraction =
            static_cast<uint32_t>(whole == 0 ? 0 : uint64_t{marked_} * kRcccOne / whole);
        average_ = average_ / 2 + fraction / 2;
        bool is_less = false;
        if (trimmed_ != 0) {
            lower(static_cast<uint32_t>(uint64_t{trimmed_} * kRcccOne / packets_));
            is_less = true;
        }
        if (average_ > kTarget) {
            lower(static_cast<uint32_t>(uint64_t{part_} * (average_ - kTarget) / kRcccOne / 2));
            is_less = true;
        }
        if (is_less) {
            raises_ = 0;
        } else {
            const uint32_t doublings = marked_ == 0 ? std::min(raises_, kMostDoublings) : 0;
            part_ = std::min(part_ + (kStep << doublings), kRcccOne);
            ++raises_;
        }
        packets_ = marked_ = trimmed_ = 0;
        looked_at_ = looked_at_ + round_trip;
        // Nothing was learned for long: assume no congestion.
        if (part_ == kRcccOne && average_ < kTarget && now - looked_at_ >= round_trip) {
            average_ = 0;
            looked_at_ = now;
        }
    }
    void lower(uint32_t by) { part_ -= std::min(by, part_ - kLeast); }

    uint32_t part_ = kRcccOne;
    uint32_t average_ = 0;  // of the marked fraction
    uint32_t raises_ = 0;   // in a row
    uint32_t packets_ = 0;
    uint32_t marked_ = 0;
    uint32_t trimmed_ = 0;
    base::Instant looked_at_{};
};

}  // namespace tulle::transport
