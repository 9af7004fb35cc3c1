// Unreliable connections: a message arrives whole or not at all, and nobody says which.
#include <gtest/gtest.h>

#include "pair.h"

namespace tulle::transport {
namespace {

using wire::Operation;

TEST(Unreliable, a_message_with_a_lost_packet_is_lost_and_its_receive_waits_for_the_next) {
    for (const Operation lost :
         {Operation::send_first, Operation::send_middle, Operation::send_last}) {
        Pair pair({.type = QpType::uc});
        pair.wire.drop(lost);
        pair.client.post({.work = Work::send, .length = 3000});
        pair.client.post({.work = Work::send, .length = 2000, .offset = 5000});
        pair.run();
        EXPECT_EQ(pair.client.completion().status, Status::success);
        EXPECT_EQ(pair.client.completion().status, Status::success);
        const Completion received = pair.server.receive_completion();
        EXPECT_EQ(received.id, 0u);
        EXPECT_EQ(received.byte_count, 2000u);
        EXPECT_TRUE(pair.server.receives.empty());
        EXPECT_TRUE(same_bytes(pair.client, 5000, pair.server, kReceiveArea, 2000));
        EXPECT_EQ(pair.wire.count_to(pair.client.endpoint), 0u);
    }
}

TEST(Unreliable, a_write_with_immediate_that_lost_a_packet_tells_nobody) {
    Pair pair({.type = QpType::uc});
    pair.wire.drop(Operation::write_middle);
    pair.client.post({.work = Work::write_with_immediate, .length = 3000, .immediate = 1});
    pair.client.post({.work = Work::write_with_immediate, .length = 3000, .immediate = 2});
    pair.run();
    EXPECT_EQ(pair.server.receive_completion().immediate_or_rkey, 2u);
    EXPECT_TRUE(pair.server.receives.empty());
    EXPECT_EQ(pair.server.counters().out_of_sequence, 1u);
}

TEST(Unreliable, a_write_with_a_bad_key_is_dropped_without_a_word) {
    Pair pair({.type = QpType::uc});
    const std::vector<std::byte> before = pair.server.memory;
    pair.client.post({.work = Work::write, .length = 3000, .rkey = 7});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.server.memory, before);
    EXPECT_EQ(pair.server.state(), QpState::rts);
    EXPECT_EQ(pair.wire.count_to(pair.client.endpoint), 0u);
    pair.client.post({.work = Work::write, .length = 3000});
    pair.run();
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 0, 3000));
}

TEST(Unreliable, a_message_without_a_receive_is_dropped_and_counted) {
    Pair pair({.type = QpType::uc, .receives = 0});
    pair.client.post({.work = Work::send, .length = 3000});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.server.counters().out_of_buffer, 1u);
    pair.server.post_receive(kReceiveArea, 8192);
    pair.client.post({.work = Work::send, .length = 3000});
    pair.run();
    EXPECT_EQ(pair.server.receive_completion().byte_count, 3000u);
}

TEST(Unreliable, a_receive_that_fails_ends_its_queue_pair_without_a_word_to_the_peer) {
    for (const QpType type : {QpType::uc, QpType::ud}) {
        Pair pair({.type = type, .receives = 0});
        const Sge bad{Host::kBase, 4096, pair.server.key ^ 1};
        pair.server.adapter.post_receive(pair.server.qpn, {3, std::span(&bad, 1)});
        pair.server.post_receive(kReceiveArea, 4096);
        pair.client.post({.work = Work::send, .length = 50});
        pair.run();
        EXPECT_EQ(pair.client.completion().status, Status::success);
        EXPECT_EQ(pair.server.receive_completion().status, Status::local_protection_error);
        EXPECT_EQ(pair.server.receive_completion().status, Status::flushed);
        EXPECT_EQ(pair.server.state(), QpState::error);
        EXPECT_EQ(pair.wire.count_to(pair.client.endpoint), 0u);
    }
}

TEST(Unreliable, a_message_longer_than_its_receive_ends_the_receivers_queue_pair) {
    Pair pair({.type = QpType::uc, .receive_bytes = 16});
    pair.client.post({.work = Work::send, .length = 3000});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.server.receive_completion().status, Status::local_length_error);
    EXPECT_EQ(pair.server.state(), QpState::error);
}

TEST(Unreliable, reads_and_atomics_are_not_offered) {
    Pair pair({.type = QpType::uc});
    for (const Work work : {Work::read, Work::fetch_add, Work::compare_swap, Work::flush,
                            Work::atomic_write, Work::send_with_invalidate})
        EXPECT_EQ(pair.client.post({.work = work, .length = 8}), Refusal::invalid_argument);
}

TEST(Unreliable, nothing_is_ever_sent_again) {
    Pair pair({.type = QpType::uc});
    pair.wire.drop_if([](const Packet&) { return true; });
    for (int i = 0; i < 10; ++i) pair.client.post({.work = Work::write, .length = 3000});
    pair.run();
    EXPECT_EQ(pair.wire.log.size(), 30u);
    EXPECT_EQ(pair.client.adapter.next_deadline(), Instant::never());
    for (int i = 0; i < 10; ++i) EXPECT_EQ(pair.client.completion().status, Status::success);
}

TEST(Unreliable, a_send_error_stops_the_send_queue_alone_until_it_is_set_going_again) {
    for (const QpType type : {QpType::uc, QpType::ud}) {
        Pair pair({.type = type});
        pair.client.post({.work = Work::send, .length = 8, .id = 1, .lkey = 3});
        pair.client.post({.work = Work::send, .length = 8, .id = 2});
        pair.run();
        EXPECT_EQ(pair.client.completion().status, Status::local_protection_error);
        EXPECT_EQ(pair.client.completion().status, Status::flushed);
        EXPECT_EQ(pair.client.state(), QpState::sqe);
        EXPECT_TRUE(pair.wire.log.empty());

        pair.client.post_receive(kReceiveArea, 4096);  // it receives all the same
        pair.server.post({.work = Work::send, .length = 8});
        pair.run();
        EXPECT_EQ(pair.client.receive_completion().status, Status::success);

        pair.client.post({.work = Work::send, .length = 8});
        EXPECT_EQ(pair.client.completion().status, Status::flushed);
        EXPECT_EQ(pair.client.go_to(QpState::rts), Refusal::none);
        pair.client.post({.work = Work::send, .length = 8});
        pair.run();
        EXPECT_EQ(pair.client.completion().status, Status::success);
        EXPECT_EQ(pair.server.receive_completion().status, Status::success);
    }
}

}  // namespace
}  // namespace tulle::transport
