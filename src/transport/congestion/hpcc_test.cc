#include "transport/congestion/hpcc.h"

#include <gtest/gtest.h>

#include "wire/telemetry.h"

namespace tulle::transport {
namespace {

constexpr uint64_t kHpccLine = 100'000'000'000;
constexpr int64_t kHpccRoundTrip = 8'000'000;  // ps: the line sends 100,000 bytes
constexpr uint64_t kFullWindow = 100'000;

// A port of a switch that was so busy since it was looked at last, and has such a queue.
class HpccTest : public ::testing::Test {
protected:
    HpccTest() {
        settings.base_rtt = base::Duration{kHpccRoundTrip};
        settings.set_line(base::Rate::bits_per_second(kHpccLine));
        settings.additive_bytes = 100;
        hpcc = Hpcc(settings);
    }

    // A round trip later: what a window in flight is acknowledged, and so much is in flight again.
    void answer(double busy, uint32_t queue_bytes, uint32_t packets = 100, uint32_t port = 7) {
        const wire::Telemetry before = told;
        const bool is_first = told.hops().empty();
        now += base::Duration{kHpccRoundTrip};
        sent += static_cast<uint64_t>(busy * kFullWindow);
        told.clear();
        told.add({now, sent, queue_bytes, port, base::Rate::bits_per_second(kHpccLine)});
        hpcc.on_signal(now, {.kind = Signal::Kind::ack,
                             .acknowledged_packets = packets,
                             .packets_in_flight = 99,
                             .telemetry = &told,
                             .telemetry_before = is_first ? nullptr : &before});
    }

    HpccSettings settings;
    Hpcc hpcc;
    wire::Telemetry told;
    base::Instant now{};
    uint64_t sent = 0;
};

TEST_F(HpccTest, it_begins_with_what_the_line_sends_in_a_round_trip_and_paces_at_the_line) {
    EXPECT_EQ(hpcc.window(), kFullWindow);
    EXPECT_EQ(hpcc.on_sent(now, 1'000), now + base::Duration{80'000});
    EXPECT_EQ(hpcc.window_packets(), 100u);
    answer(1.0, 0);  // there is nothing to compare with
    EXPECT_EQ(hpcc.window(), kFullWindow);
}

TEST_F(HpccTest, a_full_link_takes_the_window_to_eta_and_the_step) {
    answer(1.0, 0);
    answer(1.0, 0);
    EXPECT_EQ(hpcc.utilisation(), kHpccOne);
    EXPECT_EQ(hpcc.window(), 95'098u);  // eta is a part of 2^20, rounded down
}

TEST_F(HpccTest, a_queue_counts_as_bytes_in_flight_and_the_smaller_of_two) {
    answer(1.0, 50'000);
    answer(1.0, 100'000);  // 1.5 round trips of the line are under way
    EXPECT_EQ(hpcc.utilisation(), kHpccOne / 2 * 3);
    EXPECT_NEAR(static_cast<double>(hpcc.window()), 100'000 * 0.95 / 1.5 + 100, 2);
}

TEST_F(HpccTest, below_eta_it_grows_by_the_step_and_after_five_steps_in_proportion) {
    answer(1.0, 0);
    answer(1.0, 0);
    uint64_t window = hpcc.window();
    for (int i = 0; i < 5; ++i) {
        answer(0.5, 0);
        EXPECT_EQ(hpcc.window(), window + 100) << i;
        window = hpcc.window();
    }
    answer(0.95 / 1.02, 0);
    EXPECT_NEAR(static_cast<double>(hpcc.window()), static_cast<double>(window) * 1.02 + 100, 5);
}

TEST_F(HpccTest, what_answers_say_in_one_round_trip_is_not_reacted_to_twice) {
    answer(1.0, 0);
    answer(1.0, 100'000);  // the smaller queue is none
    const uint64_t window = hpcc.window();
    answer(1.0, 100'000, 50);  // of the same round trip: from the same reference
    EXPECT_NEAR(static_cast<double>(hpcc.window()), 95'100 * 0.95 / 2 + 100, 3);
    answer(1.0, 100'000, 49);
    EXPECT_NEAR(static_cast<double>(hpcc.window()), 95'100 * 0.95 / 2 + 100, 3);
    answer(1.0, 100'000, 2);  // the next round trip
    answer(1.0, 100'000, 1);
    EXPECT_NEAR(static_cast<double>(hpcc.window()), (95'100 * 0.95 / 2 + 100) * 0.475 + 100, 3);
    EXPECT_EQ(window, 95'098u);
}

TEST_F(HpccTest, of_another_path_nothing_is_compared) {
    answer(1.0, 0);
    answer(1.0, 400'000, 100, 8);
    EXPECT_EQ(hpcc.window(), kFullWindow);
}

TEST_F(HpccTest, it_stays_between_the_least_rate_and_the_line) {
    settings.min_rate_bps = kHpccLine / 10;
    answer(1.0, 1 << 30);
    answer(1.0, 1 << 30);
    EXPECT_EQ(hpcc.window(), kFullWindow / 10);
    for (int i = 0; i < 30; ++i) answer(0.1, 0);
    EXPECT_EQ(hpcc.window(), kFullWindow);
}

TEST_F(HpccTest, headers_may_be_left_out_of_the_window) {
    settings.uncounted_bytes = 90;
    hpcc.on_sent(now, 1'090);
    EXPECT_EQ(hpcc.window_packets(), 100u);
}

}  // namespace
}  // namespace tulle::transport
