// Packets that come twice, late or in another order: nothing is done twice.
#include <gtest/gtest.h>

#include "pair.h"

namespace tulle::transport {
namespace {

using namespace base::literals;
using wire::Operation;

TEST(Duplicates, a_doubled_request_is_acknowledged_again_and_not_carried_out) {
    Pair pair;
    pair.wire.repeat(Operation::send_only);
    pair.client.post({.work = Work::send, .length = 100});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.server.receive_completion().byte_count, 100u);
    EXPECT_TRUE(pair.server.receives.empty());
    EXPECT_EQ(pair.server.counters().duplicate_request, 1u);
}

TEST(Duplicates, a_doubled_packet_within_a_message_changes_nothing) {
    for (const Operation operation :
         {Operation::write_first, Operation::write_middle, Operation::write_last}) {
        Pair pair;
        pair.wire.repeat(operation);
        pair.client.post({.work = Work::write, .length = 3000});
        pair.run();
        EXPECT_EQ(pair.client.completion().status, Status::success);
        EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 0, 3000));
        EXPECT_EQ(pair.client.counters().retransmitted_packets, 0u);
    }
}

TEST(Duplicates, a_doubled_acknowledgement_is_dropped) {
    Pair pair;
    pair.wire.repeat(Operation::acknowledge);
    pair.client.post({.work = Work::write, .length = 100});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_TRUE(pair.client.sends.empty());
    EXPECT_EQ(pair.client.counters().dropped_silently, 1u);
}

TEST(Duplicates, a_doubled_nak_makes_the_requester_go_back_once_more_at_the_most) {
    Pair pair({.retry_count = 1});
    pair.wire.drop(Operation::write_first);
    pair.wire.repeat(Operation::acknowledge);  // the NAK
    pair.client.post({.work = Work::write, .length = 3000});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 0, 3000));
}

TEST(Duplicates, an_old_write_that_comes_late_does_not_undo_a_newer_one) {
    Pair pair;
    pair.wire.repeat(Operation::write_only);
    pair.client.post({.work = Work::write, .length = 64, .offset = 0});
    pair.run();
    const Packet old = pair.wire.log[0].packet;
    pair.client.post({.work = Work::write, .length = 64, .offset = 1000});
    pair.run();
    Packet late = old;
    late.payload = wire::Payload::memory(pair.wire.log[0].payload.data());
    pair.inject(late, pair.server.endpoint);
    pair.run();
    EXPECT_TRUE(same_bytes(pair.client, 1000, pair.server, 0, 64));
}

TEST(Duplicates, a_doubled_atomic_gives_the_answer_that_was_kept) {
    Pair pair;
    pair.server.set_word(0x8000, 40);
    pair.client.post(
        {.work = Work::fetch_add, .length = 8, .remote_offset = 0x8000, .compare_or_add = 2});
    pair.run();
    pair.inject(pair.wire.find(Operation::fetch_add).packet, pair.server.endpoint);
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.client.word(0), 40u);
    EXPECT_EQ(pair.server.word(0x8000), 42u);
    ASSERT_EQ(pair.wire.count(Operation::atomic_acknowledge), 2u);
    EXPECT_EQ(pair.wire.find(Operation::atomic_acknowledge, 2).packet.extended.ack.original, 40u);
}

TEST(Duplicates, an_atomic_of_long_ago_is_dropped_without_being_executed) {
    Pair pair({.max_reads = 2, .max_incoming_reads = 2});
    pair.server.set_word(0x8000, 0);
    for (int i = 0; i < 5; ++i)
        pair.client.post(
            {.work = Work::fetch_add, .length = 8, .remote_offset = 0x8000, .compare_or_add = 1});
    pair.run();
    EXPECT_EQ(pair.server.word(0x8000), 5u);
    const uint64_t dropped = pair.server.counters().dropped_silently;
    pair.inject(pair.wire.find(Operation::fetch_add, 1).packet, pair.server.endpoint);
    pair.run();
    EXPECT_EQ(pair.server.word(0x8000), 5u);
    EXPECT_EQ(pair.server.counters().dropped_silently, dropped + 1);
}

TEST(Duplicates, a_doubled_read_is_read_again) {
    Pair pair;
    pair.wire.repeat(Operation::read_request);
    pair.client.post({.work = Work::read, .length = 2000, .remote_offset = 9000});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_TRUE(pair.client.sends.empty());
    EXPECT_EQ(pair.server.counters().duplicate_request, 1u);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 9000, 2000));
}

TEST(Duplicates, a_read_asked_again_from_the_middle_begins_with_a_first_packet_there) {
    Pair pair;
    pair.wire.drop(Operation::read_response_middle, 1);
    pair.client.post({.work = Work::read, .length = 4 * 1024, .remote_offset = 0});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    ASSERT_EQ(pair.wire.count(Operation::read_response_first), 2u);
    const Sent& again = pair.wire.find(Operation::read_response_first, 2);
    EXPECT_EQ(again.packet.psn(), wire::psn_plus(Psn{0x10'0000}, 1));
    EXPECT_EQ(again.packet.payload_length, 1024u);
    // Of four answers the second was lost, so the last three were not taken.
    EXPECT_EQ(pair.server.counters().retransmitted_packets, 3u);
    EXPECT_EQ(pair.server.counters().retransmitted_bytes, 3u * 1024);
}

TEST(Duplicates, a_read_asked_again_with_another_range_is_not_answered) {
    Pair pair;
    pair.client.post({.work = Work::read, .length = 4 * 1024, .remote_offset = 0});
    pair.run();
    const uint64_t answers = pair.wire.count_to(pair.client.endpoint);
    Packet other = pair.wire.find(Operation::read_request).packet;
    other.extended.rdma.virtual_address = Host::kBase + 0x1000;
    pair.inject(other, pair.server.endpoint);
    other = pair.wire.find(Operation::read_request).packet;
    other.extended.rdma.dma_length = 5 * 1024;
    pair.inject(other, pair.server.endpoint);
    pair.run();
    EXPECT_EQ(pair.wire.count_to(pair.client.endpoint), answers);
    EXPECT_EQ(pair.server.state(), QpState::rts);
}

TEST(Duplicates, a_read_asked_again_whose_memory_is_gone_brings_nothing) {
    Pair pair;
    pair.client.post({.work = Work::read, .length = 100, .remote_offset = 0});
    pair.run();
    const uint64_t answers = pair.wire.count_to(pair.client.endpoint);
    EXPECT_EQ(pair.server.adapter.memory().deregister_region(pair.server.key), Refusal::none);
    pair.inject(pair.wire.find(Operation::read_request).packet, pair.server.endpoint);
    pair.run();
    EXPECT_EQ(pair.wire.count_to(pair.client.endpoint), answers);
}

TEST(Duplicates, packets_that_overtake_each_other_still_arrive_in_order) {
    for (const LossPolicy policy : {LossPolicy::go_back_n, LossPolicy::selective_repeat}) {
        Pair pair({.loss = policy});
        pair.wire.delay(Operation::send_first, 1, 500_ns);
        pair.wire.delay(Operation::send_middle, 2, 700_ns);
        pair.client.post({.work = Work::send, .length = 6000});
        pair.run();
        EXPECT_EQ(pair.client.completion().status, Status::success);
        EXPECT_EQ(pair.server.receive_completion().byte_count, 6000u);
        EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, kReceiveArea, 6000));
    }
}

TEST(Duplicates, responses_that_overtake_each_other_bring_the_right_bytes) {
    Pair pair;
    pair.wire.delay(Operation::read_response_middle, 2, 700_ns);
    pair.client.post({.work = Work::read, .length = 20 * 1024, .remote_offset = 0});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 0, 20 * 1024));
}

TEST(Duplicates, a_nak_that_waits_to_go_is_not_replaced_by_an_acknowledgement_of_old_packets) {
    Pair pair;
    pair.client.post({.work = Work::write, .length = 10});
    pair.run();
    pair.server.lanes.room_bytes.fill(0);
    pair.wire.drop(Operation::write_first);
    pair.client.post({.work = Work::write, .length = 3000});
    pair.run(10_us);
    pair.inject(pair.wire.find(Operation::write_only).packet, pair.server.endpoint);
    pair.server.lanes = Lanes::open();
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.client.counters().local_ack_timeout_err, 0u);
    EXPECT_EQ(pair.client.counters().packet_seq_err, 1u);
}

}  // namespace
}  // namespace tulle::transport
