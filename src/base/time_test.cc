#include "base/time.h"

#include <gtest/gtest.h>

namespace tulle::base {
namespace {

TEST(Time, literals_count_picoseconds) {
    EXPECT_EQ((7_ps).ps, 7);
    EXPECT_EQ((7_ns).ps, 7'000);
    EXPECT_EQ((7_us).ps, 7'000'000);
    EXPECT_EQ((7_ms).ps, 7'000'000'000);
    EXPECT_EQ((7_s).ps, 7'000'000'000'000);
}

TEST(Time, durations_add_subtract_scale_and_divide) {
    EXPECT_EQ(1_us + 500_ns, 1'500_ns);
    EXPECT_EQ(1_us - 2_us, -1_us);
    EXPECT_EQ(3 * 20_ps, 60_ps);
    EXPECT_EQ(20_ps * 3, 60_ps);
    EXPECT_EQ(1_us / 4, 250_ns);
    EXPECT_EQ(1_us / 300_ns, 3);
    EXPECT_EQ(1_us % 300_ns, 100_ns);
}

TEST(Time, an_instant_moves_by_durations_and_differs_by_a_duration) {
    const Instant start{1'000};
    Instant t = start + 5_ns;
    EXPECT_EQ(t - start, 5_ns);
    t += 1_ns;
    t -= 2_ns;
    EXPECT_EQ(t, start + 4_ns);
    EXPECT_EQ(t - 4_ns, start);
}

TEST(Time, never_is_later_than_a_hundred_days) {
    EXPECT_LT(Instant{} + 100 * 86'400_s, Instant::never());
}

TEST(Time, arithmetic_is_done_by_the_compiler_where_it_can_be) {
    static_assert(Instant{} + 2 * 500_ps == Instant{1'000});
    static_assert(1_ms > 999_us);
}

}  // namespace
}  // namespace tulle::base
