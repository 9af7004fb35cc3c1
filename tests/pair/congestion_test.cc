// What congestion control is told (the algorithms themselves have their own tests).
#include <gtest/gtest.h>

#include "pair.h"

namespace tulle::transport {
namespace {

using namespace base::literals;

TEST(Congestion, one_round_trip_at_a_time_is_measured) {
    Pair pair({.delay = 3_us});
    CongestionControl control;
    control.algorithm = Algorithm::fixed_rate;
    pair.client.adapter.queue_pairs().set_congestion_control(pair.client.qpn, control);
    pair.client.post({.work = Work::send, .length = 100});
    pair.run(5_us);
    const RequesterState& r = pair.client.adapter.queue_pairs().find(pair.client.qpn)->requester;
    ASSERT_TRUE(r.timed);
    EXPECT_EQ(*r.timed, Psn{0x10'0000});
    pair.run();
    EXPECT_FALSE(r.timed);
}

TEST(Congestion, a_packet_that_goes_again_is_not_timed) {
    Pair pair;
    CongestionControl control;
    control.algorithm = Algorithm::fixed_rate;
    pair.client.adapter.queue_pairs().set_congestion_control(pair.client.qpn, control);
    pair.wire.drop_nth(1);
    pair.client.post({.work = Work::send, .length = 100});
    pair.run(68_ms);  // the timeout of code 14 is 67.1 ms
    const RequesterState& r = pair.client.adapter.queue_pairs().find(pair.client.qpn)->requester;
    EXPECT_FALSE(r.timed);
    EXPECT_EQ(pair.client.counters().retransmitted_packets, 1u);
}

// After timeouts Swift's window is a thousandth of a packet, and a packet waits for a thousand
// round trips. The first answer makes it a whole packet.
TEST(Congestion, a_window_of_a_packet_ends_the_pause_that_a_smaller_one_asked_for) {
    for (const bool is_spread : {false, true}) {
        Pair pair({.loss = is_spread ? LossPolicy::selective_repeat : LossPolicy::go_back_n,
                   .delivery = is_spread ? Delivery::unordered : Delivery::ordered,
                   .ack_timeout = 6});  // 262 us
        const SwiftSettings settings{.timeouts_before_least = 1};
        pair.client.adapter.queue_pairs().set_congestion_control(
            pair.client.qpn, CongestionControl(Swift(settings)));
        pair.client.post({.work = Work::write, .length = 100});
        pair.run(10_us);
        pair.wire.drop(wire::Operation::write_only, 2);
        for (int i = 0; i < 3; ++i) {
            pair.client.post({.work = Work::write, .length = 100});
            pair.run(300_us);
        }
        EXPECT_EQ(pair.client.counters().local_ack_timeout_err, 1u);
        EXPECT_EQ(pair.client.completions_waiting(), 4u) << is_spread;
    }
}

void set_window(Pair& pair, uint32_t packets) {
    CongestionControl control(FixedRate(base::Rate::bits_per_second(400'000'000'000)));
    control.window_packets = packets;
    pair.client.adapter.queue_pairs().set_congestion_control(pair.client.qpn, control);
}

// Every second packet asks for an answer. Of three in flight the last did not, and then there is
// room for one.
TEST(Congestion, a_window_that_shrinks_to_a_packet_does_not_wait_for_what_nobody_asked_for) {
    for (const bool is_short : {true, false}) {
        Pair pair({.delay = 3_us, .ack_every = is_short ? 16u : 1000u});
        set_window(pair, 3);
        pair.client.post({.work = Work::write, .length = 20 * 1024});
        pair.run(2_us);
        set_window(pair, 1);
        pair.run();
        EXPECT_EQ(pair.client.completion().status, Status::success);
        EXPECT_EQ(pair.client.counters().retransmitted_packets, 0u);
    }
}

// Over several paths fewer packets ask, so more may be left.
TEST(Congestion, neither_does_one_over_several_paths) {
    Pair pair({.delay = 3_us,
               .loss = LossPolicy::selective_repeat,
               .delivery = Delivery::unordered,
               .paths = {.policy = PathPolicy::oblivious, .count = 4}});
    set_window(pair, 30);
    pair.client.post({.work = Work::write, .length = 40 * 1024});
    pair.run(2_us);
    set_window(pair, 1);
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.client.counters().retransmitted_packets, 0u);
}

}  // namespace
}  // namespace tulle::transport
