// Receive queues that several queue pairs share.
#include <gtest/gtest.h>

#include "pair.h"

namespace tulle::transport {
namespace {

using namespace base::literals;
using wire::Operation;

// Another queue pair at each host, connected to the other's; it shares the server's receives.
void connect_second(Pair& pair, Qpn& client, Qpn& server) {
    client = pair.client.create_qp();
    server = pair.server.create_qp();
    std::swap(pair.client.qpn, client);
    std::swap(pair.server.qpn, server);
    pair.client.connect(pair.server, Psn{5}, Psn{6});
    pair.server.connect(pair.client, Psn{6}, Psn{5});
}

TEST(SharedReceive, queue_pairs_take_receives_in_the_order_in_which_they_were_posted) {
    Pair pair({.shared_receives = true});
    Qpn first_client;
    Qpn first_server;
    connect_second(pair, first_client, first_server);
    pair.client.post({.work = Work::send, .length = 10});
    pair.run();
    std::swap(pair.client.qpn, first_client);
    pair.client.post({.work = Work::send, .length = 20});
    pair.run();
    const Completion a = pair.server.receive_completion();
    const Completion b = pair.server.receive_completion();
    EXPECT_EQ(a.id, 0u);
    EXPECT_EQ(a.byte_count, 10u);
    EXPECT_EQ(a.qpn, pair.server.qpn);
    EXPECT_EQ(b.id, 1u);
    EXPECT_EQ(b.byte_count, 20u);
    EXPECT_EQ(b.qpn, first_server);
}

TEST(SharedReceive, messages_of_two_connections_that_interleave_keep_to_their_receives) {
    Pair pair({.shared_receives = true});
    Qpn first_client;
    Qpn first_server;
    connect_second(pair, first_client, first_server);
    pair.client.post({.work = Work::send, .length = 6000, .offset = 100});
    std::swap(pair.client.qpn, first_client);
    pair.client.post({.work = Work::send, .length = 6000, .offset = 9000});
    pair.run();
    for (int i = 0; i < 2; ++i) {
        const Completion received = pair.server.receive_completion();
        EXPECT_EQ(received.byte_count, 6000u);
        const size_t offset = received.qpn == first_server ? 9000 : 100;
        EXPECT_TRUE(
            same_bytes(pair.client, offset, pair.server, kReceiveArea + received.id * 8192, 6000));
    }
}

TEST(SharedReceive, the_limit_is_told_once_when_fewer_wait) {
    for (const QpType type : {QpType::rc, QpType::uc, QpType::ud}) {
        Pair pair({.type = type, .receives = 5, .shared_receives = true});
        ASSERT_EQ(pair.server.adapter.shared_receives().set_limit(pair.server.srq, 3),
                  Refusal::none);
        for (int i = 0; i < 2; ++i) pair.client.post({.work = Work::send, .length = 8});
        pair.run();
        EXPECT_TRUE(pair.server.events().empty());
        pair.client.post({.work = Work::send, .length = 8});
        pair.run();
        EXPECT_EQ(pair.server.events(), std::vector{EventKind::srq_limit_reached}) << int(type);
        pair.client.post({.work = Work::send, .length = 8});
        pair.run();
        EXPECT_TRUE(pair.server.events().empty());
    }
}

TEST(SharedReceive, a_limit_above_the_size_of_the_queue_is_refused) {
    Pair pair({.shared_receives = true});
    EXPECT_EQ(pair.server.adapter.shared_receives().set_limit(pair.server.srq, 65),
              Refusal::invalid_argument);
}

TEST(SharedReceive, a_queue_pair_with_one_has_no_receives_of_its_own) {
    Pair pair({.shared_receives = true});
    EXPECT_EQ(pair.server.adapter.post_receive(pair.server.qpn, {}), Refusal::invalid_argument);
}

TEST(SharedReceive, an_empty_one_answers_that_the_receiver_is_not_ready) {
    Pair pair({.receives = 0, .shared_receives = true});
    pair.client.post({.work = Work::send, .length = 8});
    pair.run(100_us);
    EXPECT_EQ(pair.server.counters().out_of_buffer, 1u);
    pair.server.post_receive(kReceiveArea, 100);
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
}

TEST(SharedReceive, an_error_leaves_the_receives_to_the_others_and_says_which_was_the_last) {
    Pair pair({.receives = 3, .shared_receives = true});
    pair.wire.drop(Operation::send_last);
    pair.client.post({.work = Work::send, .length = 3000});
    pair.run(10_us);
    ASSERT_EQ(pair.server.go_to(QpState::error), Refusal::none);
    EXPECT_EQ(pair.server.receive_completion().status, Status::flushed);
    pair.server.drain();
    EXPECT_TRUE(pair.server.receives.empty());
    EXPECT_EQ(pair.server.events(), std::vector{EventKind::qp_last_receive_reached});
}

TEST(SharedReceive, what_a_destroyed_queue_pair_had_taken_goes_back_to_the_front) {
    for (const bool destroy : {true, false}) {
        Pair pair({.receives = 3, .shared_receives = true});
        pair.wire.drop(Operation::send_last);
        pair.client.post({.work = Work::send, .length = 3000});
        pair.run(10_us);
        ASSERT_EQ(destroy ? pair.server.adapter.queue_pairs().destroy(pair.server.qpn)
                          : pair.server.go_to(QpState::reset),
                  Refusal::none);
        Qpn old_client;
        Qpn old_server;
        connect_second(pair, old_client, old_server);
        pair.client.post({.work = Work::send, .length = 10});
        pair.run();
        EXPECT_EQ(pair.server.receive_completion().id, 0u);
    }
}

}  // namespace
}  // namespace tulle::transport
