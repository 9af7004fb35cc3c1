// TIMELY, "RTT-based Congestion Control for the Datacenter" (SIGCOMM 2015): the round trip says
// what the queue does. Below the low threshold the rate rises; above the high one it falls, the
// more the higher; between them the slope decides.
//
// Slopes are parts of the smallest round trip, in 16 bits; so are all other fractions.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace tulle::transport {

inline constexpr int64_t kTimelyOne = 1 << 16;

// One for all queue pairs of an adapter that share them; it outlives them.
struct TimelySettings {
    uint64_t line_rate_bps = 100'000'000'000;
    uint64_t min_rate_bps = 10'000'000;
    uint64_t step_bps = 10'000'000;       // of additive increase
    base::Duration low{50'000'000};       // T_low
    base::Duration high{500'000'000};     // T_high
    base::Duration smallest{20'000'000};  // the round trip of an idle network
    int64_t weight = kTimelyOne * 7 / 8;  // of the newest difference in the average of them
    int64_t beta = kTimelyOne * 4 / 5;    // of decrease
    uint8_t hyper_after = 5;              // so many round trips in a row that do not rise
    uint8_t hyper_steps = 5;              // then so many steps at a time
};

class Timely {
public:
    Timely() = default;
    explicit Timely(const TimelySettings& settings)
        : settings_(&settings), rate_(settings.line_rate_bps) {}

    void on_round_trip(base::Duration round_trip);

    base::Instant on_sent(base::Instant now, uint32_t bytes) const {
        constexpr uint64_t kBitPicoseconds = 8'000'000'000'000;
        return now + base::Duration{static_cast<int64_t>(bytes * kBitPicoseconds / rate_)};
    }

    uint64_t rate_bps() const { return rate_; }
    // The slope of the round trips.
    int64_t gradient() const { return difference_.ps * kTimelyOne / settings_->smallest.ps; }

private:
    void add(uint64_t steps);
    void lower(int64_t part);

    const TimelySettings* settings_ = nullptr;
    uint64_t rate_ = 0;
    base::Duration last_{};        // round trip; zero before the first
    base::Duration difference_{};  // of two that follow each other, averaged
    uint8_t falling_ = 0;          // round trips in a row that did not rise
};

}  // namespace tulle::transport
