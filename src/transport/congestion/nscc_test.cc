#include "transport/congestion/nscc.h"

#include <gtest/gtest.h>

namespace tulle::transport {
namespace {

using namespace base::literals;
using base::Duration;
using base::Instant;

// 100 Gb/s times 12 us are 150,000 bytes: the scale of all steps is one.
NsccSettings plain() {
    NsccSettings settings;
    settings.base_rtt = 12_us;
    settings.target = 9_us;
    settings.packet_bytes = 1'500;
    EXPECT_EQ(settings.set_line(base::Rate::bits_per_second(100'000'000'000)), "");
    return settings;
}

Signal ack(uint32_t packets, Duration round_trip, bool marked = false) {
    return {.marked = marked,
            .acknowledged_packets = packets,
            .packets_in_flight = 50,
            .round_trip = round_trip};
}

TEST(nscc, begins_with_one_and_a_half_times_what_the_line_holds) {
    const NsccSettings settings = plain();
    EXPECT_EQ(settings.bdp_bytes(), 150'000u);
    EXPECT_EQ(Nscc(settings).window_packets(), 150u);
}

TEST(nscc, takes_three_quarters_of_the_round_trip_as_target_unless_told) {
    NsccSettings settings = plain();
    settings.target = {};
    EXPECT_EQ(settings.target_ns(), 9'000u);
}

// Trims bring the window down; then an unmarked packet with delay d makes it grow by
// 4 * (target - d) / 12 us packets for each window that is acknowledged.
TEST(nscc, grows_in_proportion_to_what_is_left_of_the_target) {
    const NsccSettings settings = plain();
    Nscc nscc(settings);
    Signal trims = ack(1, 12_us);
    trims.trimmed_packets = 51;
    nscc.on_signal(Instant{} + 1_us, trims);
    EXPECT_EQ(nscc.window_packets(), 99u);
    for (int i = 0; i < 99; ++i) nscc.on_signal(Instant{} + 2_us, ack(1, 15_us));
    // The delay is 3 us, so two packets more for a window, less what is rounded down.
    EXPECT_EQ(nscc.window_packets(), 100u);
    for (int i = 0; i < 9; ++i) nscc.on_signal(Instant{} + 2_us, ack(1, 15_us));
    EXPECT_EQ(nscc.window_packets(), 101u);
}

TEST(nscc, a_mark_below_the_target_changes_nothing_but_the_path) {
    const NsccSettings settings = plain();
    Nscc nscc(settings);
    nscc.on_signal(Instant{} + 1_us, ack(1, 12_us, true));
    for (int i = 0; i < 100; ++i) nscc.on_signal(Instant{} + 2_us, ack(1, 20_us, true));
    EXPECT_EQ(nscc.window_packets(), 150u);
}

TEST(nscc, marks_above_the_target_shrink_it_once_a_round_trip) {
    const NsccSettings settings = plain();
    Nscc nscc(settings);
    nscc.on_signal(Instant{} + 1_us, ack(1, 12_us));
    // The average comes close to a delay of 18 us: twice the target, so 0.8 * 9/18 is cut off.
    for (int i = 0; i < 1'000; ++i) nscc.on_signal(Instant{} + 2_us, ack(1, 30_us, true));
    // The first of them was above the target by little.
    const uint32_t before = nscc.window_packets();
    EXPECT_GT(before, 145u);
    nscc.on_signal(Instant{} + 15_us, ack(1, 30_us, true));
    EXPECT_NEAR(nscc.window_packets(), before * 6 / 10, 2);
    nscc.on_signal(Instant{} + 16_us, ack(1, 30_us, true));
    EXPECT_NEAR(nscc.window_packets(), before * 6 / 10, 2);
}

TEST(nscc, becomes_what_was_delivered_where_packets_are_trimmed_and_little_was) {
    const NsccSettings settings = plain();
    Nscc nscc(settings);
    Signal signal = ack(3, 12_us);
    signal.trimmed_packets = 2;
    nscc.on_signal(Instant{} + 1_us, signal);
    nscc.on_signal(Instant{} + 10_us, ack(2, 12_us));
    EXPECT_GE(nscc.window_packets(), 148u);
    nscc.on_signal(Instant{} + 23_us, ack(1, 12_us));  // base round trip and target have passed
    EXPECT_EQ(nscc.window_packets(), 6u);
}

// Of a flow whose peer is near: its delay is what goes beyond its own round trip, and its window is
// no more than one and a half times what fits into that.
TEST(nscc, a_shorter_round_trip_than_was_said_becomes_the_base) {
    const NsccSettings settings = plain();
    Nscc nscc(settings);
    nscc.on_signal(Instant{} + 1_us, ack(1, 4_us));
    EXPECT_EQ(nscc.window_packets(), 50u);
    Signal trim;
    trim.trimmed_packets = 1;
    trim.trimmed_round_trip = 2_us;  // of headers, which wait in no queue of data
    nscc.on_signal(Instant{} + 2_us, trim);
    EXPECT_EQ(nscc.window_packets(), 25u);
}

// Where packets come in order the mark comes first, as a notification of its own.
TEST(nscc, takes_the_bit_of_an_answer_for_a_mark) {
    const NsccSettings settings = plain();
    Nscc nscc(settings);
    for (int i = 0; i < 1'000; ++i) {
        nscc.on_signal(Instant{} + 2_us, {.kind = Signal::Kind::becn});
        nscc.on_signal(Instant{} + 2_us, ack(1, 30_us));
    }
    nscc.on_signal(Instant{} + 15_us, {.kind = Signal::Kind::becn});
    const uint32_t before = nscc.window_packets();
    nscc.on_signal(Instant{} + 15_us, ack(1, 30_us));
    EXPECT_NEAR(nscc.window_packets(), before * 6 / 10, 2);
}

TEST(nscc, a_window_that_meets_no_queue_grows_fast) {
    const NsccSettings settings = plain();
    Nscc nscc(settings);
    Signal trims = ack(1, 12_us);
    trims.trimmed_packets = 140;
    nscc.on_signal(Instant{} + 1_us, trims);
    const uint32_t before = nscc.window_packets();
    // A window of them first, and then a quarter of what is acknowledged.
    for (uint32_t i = 0; i < before; ++i) nscc.on_signal(Instant{} + 2_us, ack(1, 12_us));
    const uint32_t slow = nscc.window_packets();
    for (int i = 0; i < 40; ++i) nscc.on_signal(Instant{} + 2_us, ack(1, 12_us));
    EXPECT_NEAR(nscc.window_packets(), slow + 10, 2);
}

TEST(nscc, never_falls_below_one_packet_nor_rises_above_its_bound) {
    const NsccSettings settings = plain();
    Nscc nscc(settings);
    Signal signal = ack(0, 12_us);
    signal.trimmed_packets = 1'000;
    nscc.on_signal(Instant{} + 1_us, signal);
    EXPECT_EQ(nscc.window_packets(), 1u);
    for (int i = 0; i < 10'000; ++i) nscc.on_signal(Instant{} + 1_us + i * 1_us, ack(1, 12_us));
    EXPECT_EQ(nscc.window_packets(), 150u);
}

}  // namespace
}  // namespace tulle::transport
