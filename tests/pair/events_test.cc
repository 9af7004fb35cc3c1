// Being told: completion queues that are armed, solicited events, overruns, and the counters.
#include <gtest/gtest.h>

#include "pair.h"

namespace tulle::transport {
namespace {

using Wish = CompletionQueue::Wish;
using wire::Operation;

size_t completion_events(Host& host) {
    size_t count = 0;
    for (const EventKind kind : host.events()) count += kind == EventKind::completion;
    return count;
}

TEST(Events, an_armed_queue_tells_of_the_next_completion_once) {
    Pair pair;
    pair.server.adapter.completions().arm(pair.server.receive_cq, Wish::any);
    pair.client.post({.work = Work::send, .length = 8});
    pair.client.post({.work = Work::send, .length = 8});
    pair.run();
    EXPECT_EQ(completion_events(pair.server), 1u);
    pair.client.post({.work = Work::send, .length = 8});
    pair.run();
    EXPECT_EQ(completion_events(pair.server), 0u);
    pair.server.adapter.completions().arm(pair.server.receive_cq, Wish::any);
    pair.client.post({.work = Work::send, .length = 8});
    pair.run();
    EXPECT_EQ(completion_events(pair.server), 1u);
}

TEST(Events, a_queue_armed_for_solicited_ones_waits_for_the_flag) {
    for (const Work work : {Work::send, Work::send_with_immediate, Work::write_with_immediate}) {
        Pair pair;
        pair.server.adapter.completions().arm(pair.server.receive_cq, Wish::solicited);
        pair.client.post({.work = work, .length = 3000});
        pair.run();
        EXPECT_EQ(completion_events(pair.server), 0u);
        pair.client.post({.work = work, .length = 3000, .flags = kSignalled | kSolicited});
        pair.run();
        EXPECT_EQ(completion_events(pair.server), 1u);
    }
}

TEST(Events, only_the_last_packet_of_a_message_is_solicited) {
    Pair pair;
    pair.client.post({.work = Work::send, .length = 3000, .flags = kSignalled | kSolicited});
    pair.client.post({.work = Work::write, .length = 3000, .flags = kSignalled | kSolicited});
    pair.run();
    for (const Sent& sent : pair.wire.log)
        EXPECT_EQ(sent.packet.solicited_event, sent.operation() == Operation::send_last);
}

TEST(Events, a_failure_is_always_solicited) {
    Pair pair;
    pair.client.adapter.completions().arm(pair.client.send_cq, Wish::solicited);
    pair.client.post({.work = Work::write, .length = 8, .rkey = 7});
    pair.run();
    EXPECT_EQ(completion_events(pair.client), 1u);
}

TEST(Events, a_queue_that_overruns_says_so_and_keeps_what_it_had) {
    Pair pair({.cq_capacity = 3});
    for (uint64_t i = 0; i < 5; ++i) pair.client.post({.work = Work::write, .length = 8, .id = i});
    pair.run();
    pair.client.drain();
    EXPECT_EQ(pair.client.sends.size(), 3u);
    EXPECT_EQ(pair.client.completion().id, 0u);
    EXPECT_EQ(pair.client.events(), (std::vector{EventKind::cq_error, EventKind::qp_fatal}));
}

TEST(Events, a_queue_pair_whose_completion_is_lost_is_in_error_and_says_so_once) {
    PairOptions small{.cq_capacity = 3};
    Pair pair(small, PairOptions{});
    const Qpn other = pair.client.create_qp();
    for (uint64_t i = 0; i < 8; ++i) pair.client.post({.work = Work::write, .length = 8, .id = i});
    pair.run();
    EXPECT_EQ(pair.client.state(), QpState::error);
    EXPECT_EQ(pair.client.adapter.queue_pairs().find(other)->state, QpState::reset);
    EXPECT_EQ(pair.client.events(), (std::vector{EventKind::cq_error, EventKind::qp_fatal}));
    EXPECT_EQ(pair.server.state(), QpState::rts);
}

TEST(Events, each_overrun_is_told_once) {
    PairOptions small{.cq_capacity = 2};
    Pair pair(small, PairOptions{});
    for (uint64_t i = 0; i < 5; ++i) pair.client.post({.work = Work::write, .length = 8, .id = i});
    pair.run();  // and the queue is emptied
    EXPECT_EQ(pair.client.events(), (std::vector{EventKind::cq_error, EventKind::qp_fatal}));
    for (uint64_t i = 0; i < 5; ++i) pair.client.post({.work = Work::write, .length = 8, .id = i});
    pair.run();  // these are flushed
    EXPECT_EQ(pair.client.events(), std::vector{EventKind::cq_error});
}

TEST(Events, an_overrun_of_the_receive_queue_ends_the_receiver) {
    PairOptions small{.cq_capacity = 2};
    Pair pair(PairOptions{}, small);
    for (uint64_t i = 0; i < 3; ++i) pair.client.post({.work = Work::send, .length = 8, .id = i});
    pair.run();
    EXPECT_EQ(pair.server.state(), QpState::error);
    EXPECT_EQ(pair.server.events(), (std::vector{EventKind::cq_error, EventKind::qp_fatal}));
}

TEST(Events, damaged_packets_are_counted) {
    Pair pair;
    pair.server.adapter.on_damaged_packet();
    EXPECT_EQ(pair.server.counters().port_rcv_errors, 1u);
    Packet packet = pair.forged(pair.server, Operation::send_only, Psn{0x10'0000});
    packet.payload_length = wire::kMaxPayload + 1;
    pair.inject(packet, pair.server.endpoint);
    EXPECT_EQ(pair.server.counters().port_rcv_errors, 2u);
    EXPECT_EQ(pair.server.state(), QpState::rts);
}

TEST(Events, a_queue_that_is_resized_keeps_its_entries_and_takes_more) {
    Pair pair({.cq_capacity = 2});
    pair.client.post({.work = Work::write, .length = 8, .id = 0});
    pair.client.post({.work = Work::write, .length = 8, .id = 1});
    Packet packet;
    while (pair.client.adapter.poll_transmit(pair.now, Lanes::open(), packet))
        pair.inject(packet, pair.server.endpoint);
    while (pair.server.adapter.poll_transmit(pair.now, Lanes::open(), packet))
        pair.inject(packet, pair.client.endpoint);
    EXPECT_EQ(pair.client.adapter.completions().resize(pair.client.send_cq, 1),
              Refusal::invalid_argument);
    EXPECT_EQ(pair.client.adapter.completions().resize(pair.client.send_cq, 100), Refusal::none);
    for (uint64_t i = 2; i < 60; ++i) {
        pair.client.post({.work = Work::write, .length = 8, .id = i});
        while (pair.client.adapter.poll_transmit(pair.now, Lanes::open(), packet))
            pair.inject(packet, pair.server.endpoint);
        while (pair.server.adapter.poll_transmit(pair.now, Lanes::open(), packet))
            pair.inject(packet, pair.client.endpoint);
    }
    for (uint64_t i = 0; i < 60; ++i) EXPECT_EQ(pair.client.completion().id, i);
    EXPECT_TRUE(pair.client.events().empty());
}

TEST(Events, counters_of_traffic_move_under_their_names) {
    Pair pair;
    pair.client.post({.work = Work::write, .length = 3000});
    pair.client.post({.work = Work::read, .length = 2000});
    pair.client.post({.work = Work::fetch_add, .length = 8});
    pair.run();
    EXPECT_EQ(pair.client.counters().port_xmit_packets, 5u);
    EXPECT_EQ(pair.client.counters().port_xmit_data_bytes, 3000u);
    EXPECT_EQ(pair.server.counters().port_rcv_packets, 5u);
    EXPECT_EQ(pair.server.counters().port_rcv_data_bytes, 3000u);
    EXPECT_EQ(pair.client.counters().port_rcv_data_bytes, 2000u);
    EXPECT_EQ(pair.server.counters().rx_write_requests, 1u);
    EXPECT_EQ(pair.server.counters().rx_read_requests, 1u);
    EXPECT_EQ(pair.server.counters().rx_atomic_requests, 1u);
}

TEST(Events, counters_of_congestion_move_under_their_names) {
    Pair pair;
    Packet cnp = pair.forged(pair.client, Operation::acknowledge, Psn{0});
    cnp.opcode = wire::kCnpOpcode;
    pair.inject(cnp, pair.client.endpoint);
    EXPECT_EQ(pair.client.counters().rp_cnp_ignored, 1u);
    const DcqcnSettings settings;
    const CongestionControl control{Dcqcn(settings)};
    pair.client.adapter.queue_pairs().set_congestion_control(pair.client.qpn, control);
    pair.inject(cnp, pair.client.endpoint);
    EXPECT_EQ(pair.client.counters().rp_cnp_handled, 1u);
    Packet marked = pair.forged(pair.server, Operation::send_only, Psn{0x10'0000}, 8);
    marked.traffic_class = 3;
    pair.inject(marked, pair.server.endpoint);
    EXPECT_EQ(pair.server.counters().np_ecn_marked_roce_packets, 1u);
    pair.run();
    EXPECT_EQ(pair.server.counters().np_cnp_sent, 1u);
    EXPECT_EQ(pair.client.counters().rp_cnp_handled, 2u);
    EXPECT_EQ(pair.client.counters().rp_cnp_ignored, 1u);
}

}  // namespace
}  // namespace tulle::transport
