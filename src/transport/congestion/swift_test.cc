#include "transport/congestion/swift.h"

#include <gtest/gtest.h>

namespace tulle::transport {
namespace {

constexpr int64_t kMicrosecond = 1'000'000;

class SwiftTest : public testing::Test {
protected:
    SwiftTest() {
        settings.scaling_range = {};  // but where scaling is what is tested
        settings.initial_window = 10;
        swift = Swift(settings);
    }

    void acknowledge(uint32_t packets, int64_t microseconds) {
        swift.on_signal(now, {.kind = Signal::Kind::ack,
                              .acknowledged_packets = packets,
                              .round_trip = base::Duration{microseconds * kMicrosecond}});
    }
    void wait(int64_t microseconds) { now += base::Duration{microseconds * kMicrosecond}; }

    SwiftSettings settings;
    Swift swift;
    base::Instant now{1'000'000'000};
};

TEST_F(SwiftTest, below_the_target_the_window_grows_by_one_in_a_round_trip) {
    for (int i = 0; i < 10; ++i) acknowledge(1, 15);
    EXPECT_NEAR(static_cast<double>(swift.window()), 11.0 * kSwiftOne, 0.05 * kSwiftOne);
    EXPECT_EQ(swift.on_sent(now, 4096), now) << "a window of packets does not pace";
}

TEST_F(SwiftTest, above_the_target_it_is_cut_by_beta_times_the_excess) {
    acknowledge(1, 40);  // half of the round trip is excess: 0.8 of a half
    EXPECT_NEAR(static_cast<double>(swift.window()), 6.0 * kSwiftOne, 0.01 * kSwiftOne);
}

TEST_F(SwiftTest, it_is_cut_by_half_at_most_and_once_in_a_round_trip) {
    acknowledge(1, 2000);
    EXPECT_EQ(swift.window_packets(), 5u);
    wait(1999);
    acknowledge(1, 2000);
    EXPECT_EQ(swift.window_packets(), 5u);
    wait(1);
    acknowledge(1, 2000);
    EXPECT_EQ(swift.window_packets(), 2u);
}

TEST_F(SwiftTest, a_loss_cuts_by_the_most_and_many_timeouts_leave_the_least) {
    acknowledge(1, 15);
    const uint64_t before = swift.window();
    swift.on_signal(now, {.kind = Signal::Kind::loss});
    EXPECT_EQ(swift.window(), before - before / 2);
    for (int i = 0; i < settings.timeouts_before_least; ++i) {
        wait(100);
        swift.on_signal(now, {.kind = Signal::Kind::timeout});
    }
    EXPECT_EQ(swift.window(), settings.least_window);
}

TEST_F(SwiftTest, less_than_a_packet_is_one_packet_at_a_distance) {
    for (int i = 0; i < 5; ++i) {
        acknowledge(1, 100);
        wait(100);
    }
    ASSERT_LT(swift.window(), kSwiftOne);
    EXPECT_EQ(swift.window_packets(), 1u);
    const base::Duration distance = swift.on_sent(now, 4096) - now;
    EXPECT_EQ(distance.ps, 100 * kMicrosecond * kSwiftOne / static_cast<int64_t>(swift.window()));
}

TEST_F(SwiftTest, the_target_is_highest_for_the_smallest_windows) {
    settings.scaling_range = base::Duration{100 * kMicrosecond};
    settings.initial_window = 100;
    EXPECT_EQ(Swift(settings).target(), settings.target);
    settings.initial_window = 25;  // the root is half of that of 100: 1/5 instead of 1/10
    const double range = 1 / 0.31622776 - 1 / 10.0;  // from a tenth of a packet to 100 packets
    const double wanted = 20e6 + 100e6 * (1 / 5.0 - 1 / 10.0) / range;
    EXPECT_NEAR(static_cast<double>(Swift(settings).target().ps), wanted, 0.001 * wanted);
    settings.initial_window = 0;
    EXPECT_EQ(Swift(settings).target(), settings.target + settings.scaling_range);
}

TEST_F(SwiftTest, an_answer_without_a_round_trip_counts_with_the_one_before) {
    acknowledge(1, 15);
    const uint64_t before = swift.window();
    acknowledge(1, 0);
    EXPECT_GT(swift.window(), before);
}

}  // namespace
}  // namespace tulle::transport
