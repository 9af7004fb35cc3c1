#include "transport/congestion/dctcp.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace tulle::transport {
namespace {

const DctcpSettings kSettings;

// A round trip of a sender that always has data, without marks.
uint32_t one_round_trip(Dctcp& dctcp) {
    const uint32_t window = dctcp.window_packets();
    for (uint32_t i = 0; i < window; ++i) dctcp.on_acknowledged(1, window);
    return dctcp.window_packets();
}

TEST(Dctcp, begins_with_ten_packets_and_doubles_them_in_each_round_trip) {
    Dctcp dctcp(kSettings);
    EXPECT_EQ(dctcp.window_packets(), 10u);
    EXPECT_EQ(one_round_trip(dctcp), 20u);
    EXPECT_EQ(one_round_trip(dctcp), 40u);
}

TEST(Dctcp, the_first_mark_halves_the_window_and_ends_the_doubling) {
    Dctcp dctcp(kSettings);
    dctcp.on_mark();
    dctcp.on_acknowledged(1, 9);
    EXPECT_EQ(dctcp.window_packets(), 5u);
    dctcp.on_acknowledged(8, 1);  // what was in flight then: the window rests
    EXPECT_EQ(dctcp.window_packets(), 5u);
    dctcp.on_acknowledged(1, 4);
    for (uint32_t window = 5; window < 10; ++window) {
        EXPECT_EQ(dctcp.window_packets(), window);
        // Where it grows meanwhile a round trip takes a little more than it began with.
        for (uint32_t i = 0; i < window + 1; ++i) dctcp.on_acknowledged(1, window);
    }
}

TEST(Dctcp, a_window_shrinks_once_however_many_of_its_packets_were_marked) {
    Dctcp dctcp(kSettings);
    for (int i = 0; i < 9; ++i) {
        dctcp.on_mark();
        dctcp.on_acknowledged(1, 9);
        EXPECT_EQ(dctcp.window_packets(), 5u) << i;
    }
    dctcp.on_mark();
    dctcp.on_acknowledged(1, 9);
    EXPECT_LT(dctcp.window_packets(), 5u);
}

TEST(Dctcp, alpha_comes_to_the_part_that_is_marked) {
    Dctcp half(kSettings);
    Dctcp none(kSettings);
    for (int i = 0; i < 200; ++i) {
        if (i % 2 == 0) half.on_mark();
        half.on_acknowledged(10, 0);  // a window at a time
        none.on_acknowledged(10, 0);
    }
    EXPECT_NEAR(half.alpha(), kDctcpOne * 0.5, kDctcpOne * 0.04);
    EXPECT_LT(none.alpha(), kDctcpOne / 1000);
}

// The same in floating point, with the sequence numbers of the RFC.
struct Model {
    double window = 10;
    double threshold = 1e9;
    double alpha = 1;
    int64_t unacknowledged = 0;
    int64_t observed_end = 0;
    int64_t reduced_end = 0;
    double seen = 0;
    double marked = 0;

    void on_acknowledged(int64_t packets, bool is_marked, int64_t in_flight) {
        unacknowledged += packets;
        const int64_t next = unacknowledged + in_flight;
        seen += static_cast<double>(packets);
        if (is_marked) marked += static_cast<double>(packets);
        if (unacknowledged >= observed_end) {
            alpha = alpha * (1 - 1 / 16.0) + marked / seen / 16.0;
            seen = marked = 0;
            observed_end = next;
        }
        if (unacknowledged < reduced_end) return;
        if (is_marked) {
            window = threshold = std::max(window * (1 - alpha / 2), 2.0);
            reduced_end = next;
        } else {
            window += window < threshold ? static_cast<double>(packets)
                                         : static_cast<double>(packets) / window;
        }
    }
};

TEST(Dctcp, follows_the_formulas_of_the_rfc) {
    base::RandomStream random({42, 11, 0});
    Dctcp dctcp(kSettings);
    Model model;
    for (int i = 0; i < 20'000; ++i) {
        const bool is_marked = random.below(20) == 0;
        const auto packets = static_cast<uint32_t>(1 + random.below(2));
        const uint32_t in_flight = dctcp.window_packets();
        if (is_marked) dctcp.on_mark();
        dctcp.on_acknowledged(packets, in_flight);
        model.on_acknowledged(packets, is_marked, in_flight);
        ASSERT_NEAR(dctcp.alpha() / double{kDctcpOne}, model.alpha, 0.001) << i;
        ASSERT_LE(std::abs(dctcp.window_packets() - model.window), 1 + model.window * 0.01) << i;
    }
}

TEST(Dctcp, a_loss_halves_and_silence_leaves_one_packet) {
    Dctcp dctcp(kSettings);
    for (int i = 0; i < 3; ++i) one_round_trip(dctcp);
    EXPECT_EQ(dctcp.window_packets(), 80u);
    dctcp.on_loss(80);
    EXPECT_EQ(dctcp.window_packets(), 40u);
    dctcp.on_loss(79);  // of the same window
    EXPECT_EQ(dctcp.window_packets(), 40u);
    dctcp.on_timeout();
    EXPECT_EQ(dctcp.window_packets(), 1u);
    for (int i = 0; i < 4; ++i) one_round_trip(dctcp);
    EXPECT_EQ(dctcp.window_packets(), 16u);
    EXPECT_EQ(one_round_trip(dctcp), 20u);  // there slow start is over
    one_round_trip(dctcp);
    EXPECT_EQ(one_round_trip(dctcp), 21u);
}

TEST(Dctcp, marks_never_leave_less_than_two_packets) {
    Dctcp dctcp(kSettings);
    for (int i = 0; i < 100; ++i) {
        dctcp.on_mark();
        dctcp.on_acknowledged(1, 1);
    }
    EXPECT_EQ(dctcp.window_packets(), 2u);
}

TEST(Dctcp, a_window_that_is_not_used_does_not_grow) {
    Dctcp dctcp(kSettings);
    for (int i = 0; i < 1000; ++i) dctcp.on_acknowledged(1, 0);
    EXPECT_EQ(dctcp.window_packets(), 10u);
}

}  // namespace
}  // namespace tulle::transport
