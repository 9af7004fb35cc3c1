// TIMELY, "RTT-based Congestion Control for the Datacenter" (SIGCOMM 2015): the round trip
// indicates the queue. Below the low threshold the rate rises. Above the high threshold it falls,
// by more the longer the round trip. Between them the slope decides.
//
// Slopes are fractions of the smallest round trip, in 16 bits, as are all other fractions.
#pragma once

#include <cstdint>

#include "base/rate.h"
#include "base/time.h"
#include "transport/congestion/signal.h"

namespace tulle::transport {

inline constexpr int64_t kTimelyOne = 1 << 16;

// Shared by queue pairs of an adapter; must outlive them.
struct TimelySettings {
    uint64_t line_rate_bps = 100'000'000'000;
    uint64_t min_rate_bps = 10'000'000;
    uint64_t step_bps = 10'000'000;       // of additive increase
    base::Duration low{50'000'000};       // T_low
    base::Duration high{500'000'000};     // T_high
    base::Duration smallest{20'000'000};  // the round trip of an idle network
    int64_t weight = kTimelyOne * 7 / 8;  // of the newest difference in their average
    int64_t beta = kTimelyOne * 4 / 5;    // of decrease
    uint8_t hyper_after = 5;              // round trips in a row that do not rise, ...
    uint8_t hyper_steps = 5;              // ... after which each step counts this many times

    std::string_view set_line(base::Rate line);
    std::string_view wrong() const { return low > high ? "timely.low is above timely.high" : ""; }
};

class Timely {
public:
    using Settings = TimelySettings;
    static constexpr Nature kNature{.without_answers =
                                        "no acknowledgement gives timely a round trip"};

    Timely() = default;
    explicit Timely(const TimelySettings& settings)
        : settings_(&settings), rate_(settings.line_rate_bps) {}

    void on_signal(base::Instant, const Signal& signal) {
        if (signal.round_trip.ps > 0) on_round_trip(signal.round_trip);
    }
    void on_round_trip(base::Duration round_trip);

    base::Instant on_sent(base::Instant now, uint32_t bytes) const {
        constexpr uint64_t kBitPicoseconds = 8'000'000'000'000;
        return now + base::Duration{static_cast<int64_t>(bytes * kBitPicoseconds / rate_)};
    }

    uint64_t rate_bps() const { return rate_; }
    template <class Table>
    static void describe(Table& table) {
        table.duration("low", &Settings::low, "T_low: below this round trip the rate increases");
        table.positive_duration("high", &Settings::high,
                                "T_high: above this round trip the rate decreases");
        table.positive_duration("smallest", &Settings::smallest,
                                "the round trip of an idle network");
        table.bits_per_second("min_rate", &Settings::min_rate_bps, "the lowest rate");
        table.bits_per_second("step", &Settings::step_bps, "size of an additive increase");
        table.part("weight", &Settings::weight, kTimelyOne,
                   "weight of the newest difference of round trips in their average");
        table.part("beta", &Settings::beta, kTimelyOne, "factor of a decrease");
        table.number("hyper_after", &Settings::hyper_after, 1, 255,
                     "number of round trips in a row without a rise after which steps grow");
        table.number("hyper_steps", &Settings::hyper_steps, 1, 255,
                     "number of steps at a time after that");
    }

    // The slope of the round trips.
    int64_t gradient() const { return difference_.ps * kTimelyOne / settings_->smallest.ps; }

private:
    void add(uint64_t steps);
    void lower(int64_t part);

    const TimelySettings* settings_ = nullptr;
    uint64_t rate_ = 0;
    base::Duration last_{};        // round trip; zero before the first
    base::Duration difference_{};  // between consecutive round trips, averaged
    uint8_t falling_ = 0;          // round trips in a row that did not rise
};

}  // namespace tulle::transport
