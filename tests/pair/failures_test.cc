// What breaks without the protocol having a part in it: queue pairs, shared queues, the adapter.
#include <gtest/gtest.h>

#include "pair.h"

namespace tulle::transport {
namespace {

using wire::Operation;

// Two requests of the client under way, and one that has not begun.
void post_three(Pair& pair) {
    pair.wire.drop_if([](const Packet&) { return true; });
    for (uint64_t id = 1; id <= 2; ++id)
        pair.client.post({.work = Work::write, .length = 3000, .id = id});
    pair.run(base::Duration{1'000'000});
    pair.client.post({.work = Work::write, .length = 8, .id = 3});
}

TEST(Failures, a_queue_pair_that_breaks_ends_its_oldest_request_with_a_general_error) {
    for (const QpType type : {QpType::rc, QpType::uc}) {
        Pair pair({.type = type});
        pair.client.lanes.room_bytes.fill(2000);  // a message stays under way
        pair.client.post({.work = Work::write, .length = 3000, .id = 1});
        pair.client.post({.work = Work::write, .length = 8, .id = 2});
        pair.client.post_receive(kReceiveArea, 100, 3);
        Packet packet;
        EXPECT_TRUE(pair.client.adapter.poll_transmit(pair.now, pair.client.lanes, packet));
        EXPECT_EQ(pair.client.adapter.queue_pairs().fail(pair.client.qpn), Refusal::none);
        const Completion first = pair.client.completion();
        EXPECT_EQ(first.id, 1u);
        EXPECT_EQ(static_cast<int>(first.status), 21);
        EXPECT_EQ(pair.client.completion().status, Status::flushed);
        EXPECT_EQ(pair.client.receive_completion().status, Status::flushed);
        EXPECT_EQ(pair.client.events(), std::vector{EventKind::qp_fatal});
        EXPECT_EQ(pair.client.state(), QpState::error);
        EXPECT_EQ(pair.client.adapter.queue_pairs().fail(pair.client.qpn),
                  Refusal::invalid_argument);
    }
}

TEST(Failures, a_queue_pair_that_breaks_with_nothing_under_way_only_flushes) {
    Pair pair;
    pair.client.post_receive(kReceiveArea, 100, 3);
    EXPECT_EQ(pair.client.adapter.queue_pairs().fail(pair.client.qpn), Refusal::none);
    EXPECT_EQ(pair.client.receive_completion().status, Status::flushed);
    EXPECT_EQ(pair.client.events(), std::vector{EventKind::qp_fatal});
}

TEST(Failures, an_adapter_that_breaks_ends_what_is_under_way_as_fatal_on_every_queue_pair) {
    Pair pair;
    post_three(pair);
    const Qpn first = pair.client.qpn;
    pair.client.qpn = pair.client.create_qp();
    pair.client.connect(pair.server, Psn{5}, Psn{6});
    pair.client.post({.work = Work::read, .length = 8, .id = 4});
    pair.run(base::Duration{1'000'000});
    pair.client.adapter.fail_device();
    const std::vector<std::pair<uint64_t, int>> expected = {{1, 19}, {2, 5}, {3, 5}, {4, 19}};
    for (const auto& [id, status] : expected) {
        const Completion completion = pair.client.completion();
        EXPECT_EQ(completion.id, id);
        EXPECT_EQ(static_cast<int>(completion.status), status);
    }
    EXPECT_EQ(pair.client.events(), std::vector{EventKind::device_fatal});
    EXPECT_EQ(pair.client.state(), QpState::error);
    EXPECT_EQ(pair.client.adapter.queue_pairs().find(first)->state, QpState::error);
}

TEST(Failures, a_broken_adapter_makes_and_connects_nothing_and_lets_everything_be_destroyed) {
    Pair pair;
    Adapter& adapter = pair.client.adapter;
    adapter.fail_device();
    adapter.fail_device();
    EXPECT_EQ(pair.client.events(), std::vector{EventKind::device_fatal});
    const QpSetup setup{
        .pd = pair.client.pd, .send_cq = pair.client.send_cq, .receive_cq = pair.client.receive_cq};
    EXPECT_FALSE(adapter.queue_pairs().create(setup));
    EXPECT_EQ(pair.client.go_to(QpState::reset), Refusal::none);
    EXPECT_EQ(pair.client.go_to(QpState::init, {}, kPkeyIndex | kPort | kAccessFlags),
              Refusal::invalid_argument);
    EXPECT_EQ(adapter.queue_pairs().destroy(pair.client.qpn), Refusal::none);
    EXPECT_EQ(adapter.queue_pairs().count(), 0u);
}

TEST(Failures, a_broken_shared_queue_ends_the_queue_pairs_that_want_a_receive) {
    for (const QpType type : {QpType::rc, QpType::uc, QpType::ud}) {
        Pair pair({.type = type, .shared_receives = true});
        EXPECT_EQ(pair.server.adapter.shared_receives().fail(pair.server.srq), Refusal::none);
        EXPECT_EQ(pair.server.adapter.shared_receives().fail(pair.server.srq),
                  Refusal::invalid_argument);
        EXPECT_EQ(pair.server.events(), std::vector{EventKind::srq_error});
        EXPECT_EQ(pair.server.post_receive(kReceiveArea, 10), Refusal::invalid_argument);
        EXPECT_EQ(pair.server.state(), QpState::rts);
        pair.client.post({.work = Work::send, .length = 10});
        pair.run();
        EXPECT_EQ(pair.client.completion().status,
                  type == QpType::rc ? Status::remote_operational_error : Status::success);
        EXPECT_EQ(pair.server.state(), QpState::error);
        EXPECT_EQ(pair.server.events(),
                  (std::vector{EventKind::qp_fatal, EventKind::qp_last_receive_reached}));
        EXPECT_TRUE(pair.server.receives.empty());
    }
}

TEST(Failures, work_that_needs_no_receive_goes_on_when_the_shared_queue_is_broken) {
    Pair pair({.shared_receives = true});
    EXPECT_EQ(pair.server.adapter.shared_receives().fail(pair.server.srq), Refusal::none);
    pair.client.post({.work = Work::write, .length = 3000});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
}

}  // namespace
}  // namespace tulle::transport
