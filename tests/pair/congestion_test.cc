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
    pair.client.adapter.set_congestion_control(pair.client.qpn, control);
    pair.client.post({.work = Work::send, .length = 100});
    pair.run(5_us);
    const RequesterState& r = pair.client.adapter.query_qp(pair.client.qpn)->requester;
    ASSERT_TRUE(r.timed);
    EXPECT_EQ(*r.timed, Psn{0x10'0000});
    pair.run();
    EXPECT_FALSE(r.timed);
}

TEST(Congestion, a_packet_that_goes_again_is_not_timed) {
    Pair pair;
    CongestionControl control;
    control.algorithm = Algorithm::fixed_rate;
    pair.client.adapter.set_congestion_control(pair.client.qpn, control);
    pair.wire.drop_nth(1);
    pair.client.post({.work = Work::send, .length = 100});
    pair.run(68_ms);  // the timeout of code 14 is 67.1 ms
    const RequesterState& r = pair.client.adapter.query_qp(pair.client.qpn)->requester;
    EXPECT_FALSE(r.timed);
    EXPECT_EQ(pair.client.counters().retransmitted_packets, 1u);
}

}  // namespace
}  // namespace tulle::transport
