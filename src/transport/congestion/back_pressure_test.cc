#include "transport/congestion/back_pressure.h"

#include <gtest/gtest.h>

namespace tulle::transport {
namespace {

using namespace base::literals;
using base::Instant;

constexpr uint64_t kSharedLine = 200'000'000'000;

BackPressure held_up_by(uint32_t sharers, Instant at) {
    static const BackPressureSettings settings;
    BackPressure control(settings);
    control.on_signal(at, {.kind = Signal::Kind::back_pressure, .sharers = sharers});
    return control;
}

TEST(back_pressure, sends_at_the_line_until_a_switch_says_otherwise) {
    BackPressure control = held_up_by(1, {});
    EXPECT_EQ(control.rate_bps({}), kSharedLine);
    EXPECT_EQ(control.on_sent(Instant{} + 1_us, 4'000), Instant{} + 1_us);
}

TEST(back_pressure, takes_its_part_less_a_tenth_for_a_while) {
    BackPressure control = held_up_by(4, {});
    EXPECT_NEAR(static_cast<double>(control.rate_bps(Instant{} + 9_us)), 0.9 * kSharedLine / 4,
                1e7);
    const base::Duration gap = control.on_sent(Instant{}, 4'500) - Instant{};
    EXPECT_NEAR(static_cast<double>(gap.ps), 800'000, 100);
}

TEST(back_pressure, comes_back_to_the_line_step_by_step) {
    BackPressure control = held_up_by(4, {});
    const uint64_t part = control.rate_bps({});
    EXPECT_EQ(control.rate_bps(Instant{} + 60_us), part + (kSharedLine - part) / 2);
    EXPECT_EQ(control.rate_bps(Instant{} + 110_us), kSharedLine);
    EXPECT_EQ(control.on_sent(Instant{} + 110_us, 4'000), Instant{} + 110_us);
}

TEST(back_pressure, heeds_nothing_else) {
    BackPressure control = held_up_by(1, {});
    for (const auto kind : {Signal::Kind::cnp, Signal::Kind::loss, Signal::Kind::timeout})
        control.on_signal({}, {.kind = kind});
    EXPECT_EQ(control.rate_bps({}), kSharedLine);
}

}  // namespace
}  // namespace tulle::transport
