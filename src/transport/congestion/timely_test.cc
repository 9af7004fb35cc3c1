#include "transport/congestion/timely.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace tulle::transport {
namespace {

using base::Duration;
using base::Instant;
using namespace base::literals;

TimelySettings slow_line() {
    TimelySettings settings;
    settings.line_rate_bps = 10'000'000'000;
    return settings;
}

TEST(Timely, short_round_trips_raise_the_rate_by_a_step) {
    const TimelySettings settings = slow_line();
    Timely timely(settings);
    timely.on_round_trip(1000_us);
    timely.on_round_trip(1000_us);  // high: 1 - 0.8 * 0.5
    const uint64_t before = timely.rate_bps();
    EXPECT_NEAR(static_cast<double>(before), 6.0e9, 1e6);
    timely.on_round_trip(30_us);
    EXPECT_EQ(timely.rate_bps(), before + 10'000'000);
}

TEST(Timely, round_trips_that_fall_raise_it_and_five_in_a_row_by_five_steps) {
    const TimelySettings settings = slow_line();
    Timely timely(settings);
    timely.on_round_trip(1000_us);
    timely.on_round_trip(1000_us);
    uint64_t rate = timely.rate_bps();
    Duration round_trip = 400_us;
    for (int i = 1; i <= 7; ++i, round_trip -= 10_us) {
        timely.on_round_trip(round_trip);
        rate += (i >= 5 ? 5 : 1) * 10'000'000;
        EXPECT_EQ(timely.rate_bps(), rate) << i;
    }
}

// By hand: the difference is 10 us, its average 7/8 of that, the slope that over 20 us.
TEST(Timely, round_trips_that_rise_lower_it_by_their_slope) {
    const TimelySettings settings = slow_line();
    Timely timely(settings);
    timely.on_round_trip(100_us);
    timely.on_round_trip(110_us);
    EXPECT_EQ(timely.gradient(), kTimelyOne * 7 / 16);
    EXPECT_NEAR(static_cast<double>(timely.rate_bps()), 10e9 * (1 - 0.8 * 7 / 16), 1e6);
}

TEST(Timely, the_rate_stays_between_the_smallest_and_the_line) {
    const TimelySettings settings = slow_line();
    Timely timely(settings);
    for (int i = 0; i < 100; ++i) timely.on_round_trip(20_us);
    EXPECT_EQ(timely.rate_bps(), settings.line_rate_bps);
    for (int i = 0; i < 100; ++i) timely.on_round_trip(10_ms * (i + 1));
    EXPECT_EQ(timely.rate_bps(), settings.min_rate_bps);
    EXPECT_EQ(timely.on_sent(Instant{}, 1000), Instant{} + 800_us);
}

// The paper's algorithm in floating point: ours in fixed point stays close to it.
TEST(Timely, follows_the_algorithm_of_the_paper) {
    TimelySettings settings = slow_line();
    base::RandomStream random({42, 9, 0});
    Timely timely(settings);
    double rate = 10e9;
    double last = 0;
    double average = 0;
    int falling = 0;
    for (int i = 0; i < 5000; ++i) {
        const auto us = 20 + static_cast<int64_t>(random.below(i % 100 < 80 ? 300 : 800));
        timely.on_round_trip(Duration{us * 1'000'000});
        const auto now = static_cast<double>(us);
        if (last != 0) {
            average = 0.125 * average + 0.875 * (now - last);
            const double slope = average / 20;
            falling = now >= 50 && now <= 500 && slope <= 0 ? falling + 1 : 0;
            if (now < 50)
                rate += 10e6;
            else if (now > 500)
                rate *= 1 - 0.8 * (1 - 500 / now);
            else if (slope <= 0)
                rate += falling >= 5 ? 50e6 : 10e6;
            else
                rate *= 1 - 0.8 * slope;
            rate = std::min(std::max(rate, 10e6), 10e9);
        }
        last = now;
        ASSERT_LT(std::abs(static_cast<double>(timely.rate_bps()) - rate), rate * 0.01) << i;
    }
}

}  // namespace
}  // namespace tulle::transport
