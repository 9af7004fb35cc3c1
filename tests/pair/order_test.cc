// Order: of PSNs around their end, of completions, of what a fence holds back; and acknowledgements
// that stand for several packets.
#include <gtest/gtest.h>

#include "pair.h"

namespace tulle::transport {
namespace {

using namespace base::literals;
using wire::Operation;

TEST(Order, psns_wrap_at_ffffff_in_the_requester_and_in_the_responder) {
    for (const uint32_t before : {1u, 2u, 5u, 9u}) {
        for (const LossPolicy policy : {LossPolicy::go_back_n, LossPolicy::selective_repeat}) {
            const Psn start = wire::psn_plus(Psn{0}, 0x100'0000 - before);
            Pair pair({.loss = policy, .client_psn = start, .server_psn = start});
            pair.wire.drop(Operation::send_middle, 1);
            pair.wire.drop(Operation::read_response_middle, 1);
            pair.client.post({.work = Work::send, .length = 4000});
            pair.client.post({.work = Work::read, .length = 4000, .offset = 0x4000});
            pair.client.post({.work = Work::write, .length = 4000, .remote_offset = 0x9000});
            pair.client.post_receive(kReceiveArea, 8192);
            pair.server.post({.work = Work::send, .length = 8000});
            pair.run();
            for (int i = 0; i < 3; ++i) EXPECT_EQ(pair.client.completion().status, Status::success);
            EXPECT_EQ(pair.server.completion().status, Status::success);
            EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, kReceiveArea, 4000));
            EXPECT_TRUE(same_bytes(pair.client, 0x4000, pair.server, 0, 4000));
            EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 0x9000, 4000));
            EXPECT_TRUE(same_bytes(pair.server, 0, pair.client, kReceiveArea, 8000));
        }
    }
}

TEST(Order, long_messages_ask_for_an_acknowledgement_every_so_many_packets) {
    for (const uint32_t every : {1u, 4u, 16u}) {
        Pair pair({.ack_every = every});
        pair.client.post({.work = Work::write, .length = 64 * 1024});
        pair.run();
        uint64_t asked = 0;
        for (const Sent& sent : pair.wire.log)
            asked += sent.to == pair.server.endpoint && sent.packet.ack_request;
        EXPECT_EQ(asked, 64 / every);
        EXPECT_EQ(pair.client.completion().status, Status::success);
    }
}

TEST(Order, one_acknowledgement_stands_for_all_that_came_together) {
    Pair pair;
    for (uint64_t i = 0; i < 8; ++i) pair.client.post({.work = Work::write, .length = 8, .id = i});
    pair.run();
    EXPECT_EQ(pair.wire.count(Operation::acknowledge), 1u);
    for (uint64_t i = 0; i < 8; ++i) EXPECT_EQ(pair.client.completion().id, i);
}

TEST(Order, a_window_smaller_than_the_distance_of_acknowledgements_does_not_stop_the_sender) {
    Pair pair({.ack_every = 16, .max_packets_outstanding = 4});
    pair.client.post({.work = Work::write, .length = 64 * 1024});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.client.counters().local_ack_timeout_err, 0u);
    EXPECT_EQ(pair.client.counters().retransmitted_packets, 0u);
}

TEST(Order, no_more_packets_are_under_way_than_the_window_allows) {
    Pair pair({.max_packets_outstanding = 8});
    pair.client.post({.work = Work::write, .length = 64 * 1024});
    pair.run(500_ns);
    EXPECT_EQ(pair.wire.log.size(), 8u);
}

TEST(Order, a_fence_waits_for_reads_and_atomics_before_it) {
    Pair pair;
    pair.client.post({.work = Work::read, .length = 2000, .remote_offset = 9000});
    pair.client.post({.work = Work::fetch_add, .length = 8, .offset = 4000});
    pair.client.post({.work = Work::send, .length = 2000, .flags = kSignalled | kFence});
    pair.run(500_ns);
    EXPECT_EQ(pair.wire.log.size(), 2u);
    pair.run();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_TRUE(same_bytes(pair.server, 9000, pair.server, kReceiveArea, 2000));  // what was read
}

TEST(Order, without_a_fence_a_send_overtakes_the_answer_of_a_read) {
    Pair pair;
    pair.client.post({.work = Work::read, .length = 2000, .remote_offset = 9000});
    pair.client.post({.work = Work::send, .length = 2000});
    pair.run(500_ns);
    EXPECT_EQ(pair.wire.log.size(), 3u);
}

TEST(Order, a_fence_does_not_wait_for_writes) {
    Pair pair;
    pair.client.post({.work = Work::write, .length = 8});
    pair.client.post({.work = Work::send, .length = 8, .flags = kSignalled | kFence});
    pair.run(500_ns);
    EXPECT_EQ(pair.wire.log.size(), 2u);
}

TEST(Order, work_that_is_not_signalled_completes_without_a_word) {
    Pair pair;
    pair.client.post({.work = Work::write, .length = 8, .flags = 0, .id = 1});
    pair.client.post({.work = Work::write, .length = 8, .flags = kSignalled, .id = 2});
    pair.client.post({.work = Work::write, .length = 8, .flags = 0, .id = 3});
    pair.run();
    EXPECT_EQ(pair.client.completion().id, 2u);
    EXPECT_TRUE(pair.client.sends.empty());
}

TEST(Order, a_queue_pair_may_signal_all_its_work) {
    Pair pair({.signal_all = true});
    pair.client.post({.work = Work::write, .length = 8, .flags = 0});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
}

TEST(Order, places_in_the_send_queue_come_free_as_work_completes_signalled_or_not) {
    Pair pair({.queue_depth = 4, .receives = 4});
    for (int round = 0; round < 5; ++round) {
        for (int i = 0; i < 4; ++i)
            EXPECT_EQ(pair.client.post({.work = Work::write, .length = 8, .flags = 0}),
                      Refusal::none);
        EXPECT_EQ(pair.client.post({.work = Work::write, .length = 8}), Refusal::queue_full);
        pair.run();
    }
}

TEST(Order, a_receive_queue_that_is_full_refuses) {
    Pair pair({.queue_depth = 2, .receives = 2});
    EXPECT_EQ(pair.server.post_receive(0, 100), Refusal::queue_full);
}

TEST(Order, both_directions_of_a_connection_work_at_once) {
    Pair pair({.receives = 16});
    for (uint32_t i = 0; i < 16; ++i) pair.client.post_receive(kReceiveArea + i * 8192, 8192, i);
    pair.wire.drop(Operation::send_middle, 3);
    pair.wire.drop(Operation::acknowledge, 2);
    for (int i = 0; i < 10; ++i) {
        pair.client.post({.work = Work::send, .length = 5000});
        pair.server.post({.work = Work::send, .length = 3000});
        pair.client.post({.work = Work::read, .length = 3000, .offset = 0x10000});
    }
    pair.run();
    for (int i = 0; i < 20; ++i) EXPECT_EQ(pair.client.completion().status, Status::success);
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(pair.server.completion().status, Status::success);
        EXPECT_EQ(pair.server.receive_completion().byte_count, 5000u);
        EXPECT_EQ(pair.client.receive_completion().byte_count, 3000u);
    }
}

}  // namespace
}  // namespace tulle::transport
