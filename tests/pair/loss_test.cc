// Packets that are lost, requests and answers, in both loss policies: everything arrives once, in
// order, and no more is sent again than the policy says.
#include <gtest/gtest.h>

#include "pair.h"

namespace tulle::transport {
namespace {

using namespace base::literals;
using wire::Operation;

void expect_success(Pair& pair, uint32_t length) {
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.server.receive_completion().byte_count, length);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, kReceiveArea, length));
    EXPECT_TRUE(pair.server.receives.empty());
}

TEST(Loss, a_lost_first_packet_is_named_by_a_nak_and_all_goes_again) {
    Pair pair;
    pair.wire.drop(Operation::send_first);
    pair.client.post({.work = Work::send, .length = 5 * 1024});
    pair.run();
    expect_success(pair, 5 * 1024);
    EXPECT_EQ(pair.wire.count_to(pair.server.endpoint), 5u + 5u);
    EXPECT_EQ(pair.client.counters().retransmitted_packets, 5u);
    EXPECT_EQ(pair.client.counters().packet_seq_err, 1u);
    EXPECT_EQ(pair.client.counters().local_ack_timeout_err, 0u);
}

TEST(Loss, a_lost_middle_packet_sends_everything_from_there_again) {
    Pair pair;
    pair.wire.drop(Operation::send_middle, 2);  // the third of five
    pair.client.post({.work = Work::send, .length = 5 * 1024});
    pair.run();
    expect_success(pair, 5 * 1024);
    EXPECT_EQ(pair.wire.count_to(pair.server.endpoint), 5u + 3u);
    EXPECT_EQ(pair.client.counters().packet_seq_err, 1u);
    EXPECT_EQ(pair.server.counters().out_of_sequence, 2u);
}

TEST(Loss, a_gap_is_told_once_however_many_packets_come_behind_it) {
    Pair pair;
    pair.wire.drop(Operation::write_first);
    pair.client.post({.work = Work::write, .length = 40 * 1024});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.server.counters().out_of_sequence, 39u);
    EXPECT_EQ(pair.client.counters().packet_seq_err, 1u);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 0, 40 * 1024));
}

TEST(Loss, a_lost_last_packet_is_sent_again_after_one_timeout) {
    Pair pair;
    pair.wire.drop(Operation::send_last);
    pair.client.post({.work = Work::send, .length = 3000});
    pair.run();
    expect_success(pair, 3000);
    EXPECT_EQ(pair.client.counters().local_ack_timeout_err, 1u);
}

TEST(Loss, a_lost_only_packet_is_sent_again_after_one_timeout) {
    for (const Work work : {Work::send, Work::send_with_immediate}) {
        Pair pair;
        pair.wire.drop_nth(1);
        pair.client.post({.work = work, .length = 100});
        pair.run();
        expect_success(pair, 100);
        EXPECT_EQ(pair.client.counters().local_ack_timeout_err, 1u);
        EXPECT_EQ(pair.wire.count_to(pair.server.endpoint), 2u);
    }
}

TEST(Loss, a_lost_acknowledgement_is_given_again_and_the_data_is_not_taken_twice) {
    Pair pair;
    pair.wire.drop(Operation::acknowledge);
    pair.client.post({.work = Work::send, .length = 1000});
    pair.run();
    expect_success(pair, 1000);
    EXPECT_EQ(pair.server.counters().duplicate_request, 1u);
    EXPECT_EQ(pair.wire.count(Operation::acknowledge), 2u);
}

TEST(Loss, a_later_acknowledgement_stands_for_one_that_was_lost) {
    Pair pair;
    pair.wire.drop(Operation::acknowledge);
    pair.client.post({.work = Work::write, .length = 1000, .id = 1});
    pair.run(500_ns);
    pair.client.post({.work = Work::write, .length = 1000, .remote_offset = 4096, .id = 2});
    pair.run();
    EXPECT_EQ(pair.client.completion().id, 1u);
    EXPECT_EQ(pair.client.completion().id, 2u);
    EXPECT_EQ(pair.client.counters().retransmitted_packets, 0u);
}

TEST(Loss, a_lost_read_request_is_asked_again) {
    Pair pair;
    pair.wire.drop(Operation::read_request);
    pair.client.post({.work = Work::read, .length = 3000, .remote_offset = 9000});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 9000, 3000));
    EXPECT_EQ(pair.wire.count(Operation::read_request), 2u);
    EXPECT_EQ(pair.client.counters().local_ack_timeout_err, 1u);
}

TEST(Loss, a_lost_read_response_makes_the_requester_ask_for_what_is_missing) {
    struct Case {
        Operation lost;
        uint64_t nth;
        uint32_t missing_from;  // packets that had come before
    };
    for (const Case& c :
         {Case{Operation::read_response_first, 1, 0}, Case{Operation::read_response_middle, 1, 1},
          Case{Operation::read_response_middle, 3, 3}, Case{Operation::read_response_last, 1, 5}}) {
        Pair pair;
        pair.wire.drop(c.lost, c.nth);
        pair.client.post({.work = Work::read, .length = 6 * 1024, .remote_offset = 9000});
        pair.run();
        EXPECT_EQ(pair.client.completion().status, Status::success);
        EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 9000, 6 * 1024));
        ASSERT_EQ(pair.wire.count(Operation::read_request), 2u);
        const Packet& again = pair.wire.find(Operation::read_request, 2).packet;
        EXPECT_EQ(again.extended.rdma.dma_length, (6 - c.missing_from) * 1024);
        EXPECT_EQ(again.extended.rdma.virtual_address, Host::kBase + 9000 + c.missing_from * 1024);
        EXPECT_EQ(pair.server.counters().duplicate_request, 1u);
    }
}

TEST(Loss, one_lost_response_of_a_long_read_costs_one_retry) {
    Pair pair({.retry_count = 2});
    pair.wire.drop(Operation::read_response_middle, 3);
    pair.client.post({.work = Work::read, .length = 64 * 1024, .remote_offset = 0});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.client.counters().implied_nak_seq_err, 1u);
    EXPECT_EQ(pair.wire.count(Operation::read_request), 2u);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 0, 64 * 1024));
}

TEST(Loss, a_response_that_is_lost_twice_is_asked_for_again_after_a_timeout) {
    Pair pair;
    pair.wire.drop(Operation::read_response_middle, 3);
    pair.wire.drop(Operation::read_response_first, 2);  // it comes first of what is asked again
    pair.client.post({.work = Work::read, .length = 16 * 1024, .remote_offset = 0});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 0, 16 * 1024));
}

TEST(Loss, an_acknowledgement_behind_a_missing_answer_says_that_the_answer_was_lost) {
    Pair pair;
    pair.wire.drop(Operation::read_response_only);
    pair.client.post({.work = Work::read, .length = 100, .remote_offset = 9000});
    pair.client.post({.work = Work::write, .length = 100, .offset = 500, .remote_offset = 0});
    pair.run();
    EXPECT_EQ(pair.client.completion().kind, CompletionKind::read);
    EXPECT_EQ(pair.client.completion().kind, CompletionKind::write);
    EXPECT_EQ(pair.client.counters().implied_nak_seq_err, 1u);
    EXPECT_EQ(pair.client.counters().local_ack_timeout_err, 0u);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 9000, 100));
}

TEST(Loss, an_atomic_whose_answer_is_lost_is_executed_exactly_once) {
    Pair pair;
    pair.server.set_word(0x8000, 100);
    pair.wire.drop(Operation::atomic_acknowledge);
    pair.client.post(
        {.work = Work::fetch_add, .length = 8, .remote_offset = 0x8000, .compare_or_add = 5});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.client.word(0), 100u);
    EXPECT_EQ(pair.server.word(0x8000), 105u);
    EXPECT_EQ(pair.wire.count(Operation::fetch_add), 2u);
    EXPECT_EQ(pair.server.counters().rx_atomic_requests, 1u);
}

TEST(Loss, several_atomics_whose_answers_are_lost_are_each_executed_once) {
    Pair pair;
    pair.server.set_word(0x8000, 0);
    for (uint64_t i = 1; i <= 4; ++i) pair.wire.drop(Operation::atomic_acknowledge, i);
    for (uint32_t i = 0; i < 4; ++i)
        pair.client.post({.work = Work::fetch_add,
                          .length = 8,
                          .offset = i * 8,
                          .remote_offset = 0x8000,
                          .compare_or_add = 1});
    pair.run();
    for (uint32_t i = 0; i < 4; ++i) {
        EXPECT_EQ(pair.client.completion().status, Status::success);
        EXPECT_EQ(pair.client.word(i * 8), i);
    }
    EXPECT_EQ(pair.server.word(0x8000), 4u);
}

TEST(Loss, selective_repeat_sends_only_the_lost_packet_again) {
    Pair pair({.loss = LossPolicy::selective_repeat});
    pair.wire.drop(Operation::write_middle, 7);
    pair.client.post({.work = Work::write, .length = 40 * 1024});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.wire.count_to(pair.server.endpoint), 41u);
    EXPECT_EQ(pair.client.counters().retransmitted_packets, 1u);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 0, 40 * 1024));
}

TEST(Loss, selective_repeat_closes_several_gaps_one_after_the_other) {
    Pair pair({.loss = LossPolicy::selective_repeat});
    for (const uint64_t n : {1u, 5u, 6u, 20u}) pair.wire.drop(Operation::send_middle, n);
    pair.client.post({.work = Work::send, .length = 8 * 1024});
    pair.client.post({.work = Work::send, .length = 8 * 1024});
    pair.client.post({.work = Work::send, .length = 8 * 1024});
    pair.client.post({.work = Work::send, .length = 8 * 1024});
    pair.run();
    for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(pair.client.completion().status, Status::success);
        EXPECT_EQ(pair.server.receive_completion().byte_count, 8u * 1024);
    }
    EXPECT_EQ(pair.wire.count_to(pair.server.endpoint), 32u + 4u);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, kReceiveArea, 8 * 1024));
}

TEST(Loss, peers_of_different_policies_understand_each_other) {
    for (const bool client_is_selective : {true, false}) {
        PairOptions client;
        PairOptions server;
        (client_is_selective ? client : server).loss = LossPolicy::selective_repeat;
        Pair pair(client, server);
        pair.wire.drop(Operation::write_middle, 2);
        pair.wire.drop(Operation::write_middle, 6);
        pair.client.post({.work = Work::write, .length = 12 * 1024});
        pair.run();
        EXPECT_EQ(pair.client.completion().status, Status::success);
        EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 0, 12 * 1024));
    }
}

TEST(Loss, a_queue_pair_begins_to_repeat_selectively_when_its_peer_is_known_to_understand_it) {
    Pair pair;
    pair.wire.drop(Operation::write_middle, 7);
    pair.client.post({.work = Work::write, .length = 40 * 1024});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    const uint64_t before = pair.client.counters().retransmitted_packets;
    EXPECT_GT(before, 1u);
    pair.client.adapter.queue_pairs().set_loss_policy(pair.client.qpn,
                                                      LossPolicy::selective_repeat);
    pair.server.adapter.queue_pairs().set_loss_policy(pair.server.qpn,
                                                      LossPolicy::selective_repeat);
    pair.wire.drop(Operation::write_middle, pair.wire.count(Operation::write_middle) + 7);
    pair.client.post({.work = Work::write, .length = 40 * 1024});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.client.counters().retransmitted_packets, before + 1);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 0, 40 * 1024));
}

TEST(Loss, selective_repeat_keeps_reads_and_atomics_in_their_place) {
    Pair pair({.loss = LossPolicy::selective_repeat});
    pair.server.set_word(0x8000, 1);
    pair.wire.drop(Operation::write_only);
    pair.client.post({.work = Work::write, .length = 1024, .remote_offset = 0});
    pair.client.post({.work = Work::read, .length = 1024, .offset = 4096, .remote_offset = 0});
    pair.client.post({.work = Work::fetch_add,
                      .length = 8,
                      .offset = 8192,
                      .remote_offset = 0x8000,
                      .compare_or_add = 1});
    pair.run();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.client, 4096, 1024));  // read what was written
    EXPECT_EQ(pair.server.word(0x8000), 2u);
}

TEST(Loss, each_packet_of_a_conversation_may_be_lost) {
    for (const LossPolicy policy : {LossPolicy::go_back_n, LossPolicy::selective_repeat}) {
        for (uint64_t lost = 1; lost <= 24; ++lost) {
            Pair pair({.loss = policy});
            pair.server.set_word(0x8000, 7);
            pair.wire.drop_nth(lost);
            pair.client.post({.work = Work::send, .length = 3000});
            pair.client.post(
                {.work = Work::read, .length = 3000, .offset = 0x4000, .remote_offset = 0x4000});
            pair.client.post({.work = Work::fetch_add,
                              .length = 8,
                              .offset = 0x7000,
                              .remote_offset = 0x8000,
                              .compare_or_add = 1});
            pair.client.post({.work = Work::write, .length = 3000, .remote_offset = 0x9000});
            pair.client.post({.work = Work::write_with_immediate, .remote_offset = 0x9000});
            pair.run();
            for (int i = 0; i < 5; ++i)
                ASSERT_EQ(pair.client.completion().status, Status::success) << lost;
            ASSERT_EQ(pair.server.receive_completion().byte_count, 3000u);
            ASSERT_EQ(pair.server.receive_completion().byte_count, 0u);
            ASSERT_TRUE(pair.server.receives.empty());
            ASSERT_EQ(pair.server.word(0x8000), 8u);
            ASSERT_TRUE(same_bytes(pair.client, 0x4000, pair.server, 0x4000, 3000));
            ASSERT_TRUE(same_bytes(pair.client, 0, pair.server, 0x9000, 3000));
        }
    }
}

}  // namespace
}  // namespace tulle::transport
