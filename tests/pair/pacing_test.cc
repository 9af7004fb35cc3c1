// Pacing: packets of a queue pair leave at exactly its rate, and hold up no other queue pair.
#include <gtest/gtest.h>

#include "pair.h"

namespace tulle::transport {
namespace {

using namespace base::literals;
using wire::Operation;

// So many picoseconds a byte.
CongestionControl rate(uint32_t numerator, uint32_t denominator) {
    return CongestionControl(
        FixedRate(base::Rate::bits_per_second(8'000'000'000'000ull * denominator, numerator)));
}

constexpr int64_t kEnvelope = 46 + 12;  // and the base header

TEST(Pacing, packets_keep_exactly_their_distance) {
    Pair pair;
    pair.client.adapter.queue_pairs().set_congestion_control(pair.client.qpn,
                                                             rate(80, 1));  // 100 Gb/s
    pair.client.post({.work = Work::write, .length = 10 * 1024});
    pair.run();
    const Instant start = pair.wire.log[0].at;
    int64_t bytes = 0;
    uint64_t index = 0;
    for (const Sent& sent : pair.wire.log) {
        if (sent.to != pair.server.endpoint) continue;
        EXPECT_EQ((sent.at - start).ps, bytes * 80) << index;
        bytes += kEnvelope + 1024 + (index++ == 0 ? 16 : 0);
    }
    EXPECT_EQ(pair.client.completion().status, Status::success);
}

TEST(Pacing, a_rate_that_is_no_whole_number_does_not_drift) {
    Pair pair;
    pair.client.adapter.queue_pairs().set_congestion_control(pair.client.qpn, rate(440, 3));  // FDR
    pair.client.post({.work = Work::write, .length = 31 * 1024});
    pair.run();
    const Sent& last = pair.wire.find(Operation::write_last);
    const int64_t before = kEnvelope * 30 + 30 * 1024 + 16;
    EXPECT_EQ((last.at - pair.wire.log[0].at).ps, before * 440 / 3);
}

TEST(Pacing, messages_follow_each_other_at_the_rate) {
    Pair pair;
    pair.client.adapter.queue_pairs().set_congestion_control(pair.client.qpn, rate(80, 1));
    for (int i = 0; i < 3; ++i) pair.client.post({.work = Work::send, .length = 100});
    pair.run();
    const Instant first = pair.wire.find(Operation::send_only, 1).at;
    const Instant third = pair.wire.find(Operation::send_only, 3).at;
    EXPECT_EQ((third - first).ps, 2 * (kEnvelope + 100) * 80);
}

TEST(Pacing, a_slow_queue_pair_does_not_hold_up_another_of_its_lane) {
    Pair pair;
    const Qpn slow = pair.client.qpn;
    pair.client.adapter.queue_pairs().set_congestion_control(slow, rate(1'000'000, 1));
    pair.client.qpn = pair.client.create_qp();
    pair.client.connect(pair.server, {}, {});
    const Qpn fast = pair.client.qpn;
    for (const Qpn qpn : {slow, fast}) {
        pair.client.qpn = qpn;
        pair.client.post({.work = Work::write, .length = 8 * 1024});
    }
    Packet packet;
    uint64_t sent = 0;
    while (pair.client.adapter.poll_transmit(pair.now, Lanes::open(), packet)) ++sent;
    EXPECT_EQ(sent, 1u + 8u);
    EXPECT_EQ(pair.client.adapter.next_deadline().ps, (kEnvelope + 16 + 1024) * 1'000'000);
}

TEST(Pacing, acknowledgements_are_not_paced) {
    Pair pair({.ack_every = 1});
    pair.server.adapter.queue_pairs().set_congestion_control(pair.server.qpn, rate(1'000'000, 1));
    pair.client.post({.work = Work::write, .length = 4 * 1024});
    pair.run(3_us);
    EXPECT_EQ(pair.client.completion().status, Status::success);
}

TEST(Pacing, acknowledgements_go_while_data_waits_for_its_time) {
    Pair pair;
    pair.server.adapter.queue_pairs().set_congestion_control(pair.server.qpn, rate(1'000'000, 1));
    pair.server.post({.work = Work::write, .length = 4 * 1024});
    pair.client.post({.work = Work::write, .length = 4 * 1024});
    pair.run(3_us);
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.wire.count_to(pair.client.endpoint), 2u);
}

TEST(Pacing, a_queue_pair_may_go_while_its_data_waits) {
    Pair pair;
    pair.client.adapter.queue_pairs().set_congestion_control(pair.client.qpn, rate(1'000'000, 1));
    pair.client.post({.work = Work::write, .length = 4 * 1024});
    pair.run(3_us);
    pair.client.adapter.queue_pairs().destroy(pair.client.qpn);
    pair.run(10_ms);
    EXPECT_EQ(pair.wire.count_to(pair.server.endpoint), 1u);
    EXPECT_EQ(pair.client.completions_waiting(), 0u);
}

TEST(Pacing, slowness_is_not_silence) {
    Pair pair({.ack_timeout = 5, .ack_every = 16});  // 131 us
    pair.client.adapter.queue_pairs().set_congestion_control(pair.client.qpn,
                                                             rate(1'000'000, 1));  // 1 ms each
    pair.client.post({.work = Work::write, .length = 20 * 1024});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.client.counters().local_ack_timeout_err, 0u);
    EXPECT_EQ(pair.client.counters().retransmitted_packets, 0u);
}

TEST(Pacing, data_that_the_peer_reads_is_paced) {
    Pair pair;
    pair.server.adapter.queue_pairs().set_congestion_control(pair.server.qpn, rate(80, 1));
    pair.client.post({.work = Work::read, .length = 4 * 1024});
    pair.run();
    const Instant first = pair.wire.find(Operation::read_response_first).at;
    const Instant last = pair.wire.find(Operation::read_response_last).at;
    EXPECT_EQ((last - first).ps, (3 * (kEnvelope + 1024) + 4) * 80);  // the first has an AETH
    EXPECT_EQ(pair.client.completion().status, Status::success);
}

}  // namespace
}  // namespace tulle::transport
