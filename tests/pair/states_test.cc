// States of a queue pair: what each lets through, how the send queue drains, and what the error
// state does with what was posted.
#include <gtest/gtest.h>

#include "pair.h"

namespace tulle::transport {
namespace {

using namespace base::literals;
using wire::Operation;

constexpr uint32_t kToRtr =
    kAddress | kPathMtu | kDestQpn | kReceivePsn | kMaxIncomingReads | kMinRnrTimer;
constexpr uint32_t kToRts = kSendPsn | kTimeout | kRetryCount | kRnrRetry | kMaxReads;

TEST(States, nothing_is_posted_to_a_queue_pair_that_was_reset) {
    Pair pair;
    ASSERT_EQ(pair.client.go_to(QpState::reset), Refusal::none);
    EXPECT_EQ(pair.client.post({.work = Work::send, .length = 8}), Refusal::invalid_argument);
    EXPECT_EQ(pair.client.post_receive(0, 8), Refusal::invalid_argument);
}

TEST(States, receives_are_posted_from_init_on_and_sends_from_rts_on) {
    Pair pair;
    Host& host = pair.client;
    host.qpn = host.create_qp();
    EXPECT_EQ(host.post_receive(0, 8), Refusal::invalid_argument);
    ASSERT_EQ(host.go_to(QpState::init, {}, kPkeyIndex | kPort | kAccessFlags), Refusal::none);
    EXPECT_EQ(host.post_receive(0, 8), Refusal::none);
    EXPECT_EQ(host.post({.work = Work::send, .length = 8}), Refusal::invalid_argument);
    ASSERT_EQ(host.go_to(QpState::rtr, {}, kToRtr), Refusal::none);
    EXPECT_EQ(host.post({.work = Work::send, .length = 8}), Refusal::invalid_argument);
    ASSERT_EQ(host.go_to(QpState::rts, {}, kToRts), Refusal::none);
    EXPECT_EQ(host.post({.work = Work::send, .length = 8}), Refusal::none);
}

TEST(States, a_queue_pair_receives_in_rtr_and_says_that_the_connection_stands) {
    Pair pair;
    Host& server = pair.server;
    server.qpn = server.create_qp();
    ASSERT_EQ(server.go_to(QpState::init, {}, kPkeyIndex | kPort | kAccessFlags), Refusal::none);
    Packet packet = pair.forged(server, Operation::send_only, Psn{7}, 8);
    pair.inject(packet, server.endpoint);
    EXPECT_EQ(server.counters().dropped_bad_state, 1u);
    QpAttributes attributes;
    attributes.address.endpoint = pair.client.endpoint;
    attributes.receive_psn = Psn{7};
    attributes.path_mtu = 1024;
    ASSERT_EQ(server.go_to(QpState::rtr, attributes, kToRtr), Refusal::none);
    server.post_receive(kReceiveArea, 100, 3);
    pair.inject(packet, server.endpoint);
    packet.set_psn(Psn{8});
    pair.inject(packet, server.endpoint);
    EXPECT_EQ(server.receive_completion().id, 3u);
    EXPECT_EQ(server.events(), std::vector{EventKind::communication_established});
}

TEST(States, sqd_finishes_what_has_begun_begins_nothing_and_says_when_it_is_drained) {
    Pair pair;
    pair.client.post({.work = Work::write, .length = 3000, .id = 1});
    pair.client.post({.work = Work::read, .length = 3000, .offset = 8000, .id = 2});
    pair.run(500_ns);
    QpAttributes attributes;
    attributes.drain_notify = true;
    ASSERT_EQ(pair.client.go_to(QpState::sqd, attributes, kDrainNotify), Refusal::none);
    EXPECT_TRUE(pair.client.events().empty());
    EXPECT_EQ(pair.client.post({.work = Work::write, .length = 8, .id = 3}), Refusal::none);
    pair.run();
    EXPECT_EQ(pair.client.completion().id, 1u);
    EXPECT_EQ(pair.client.completion().id, 2u);
    EXPECT_TRUE(pair.client.sends.empty());
    EXPECT_EQ(pair.client.events(), std::vector{EventKind::sq_drained});
    ASSERT_EQ(pair.client.go_to(QpState::rts), Refusal::none);
    pair.run();
    EXPECT_EQ(pair.client.completion().id, 3u);
    EXPECT_TRUE(pair.client.events().empty());
}

TEST(States, sqd_of_an_idle_send_queue_is_drained_at_once) {
    for (const bool asks : {true, false}) {
        Pair pair;
        QpAttributes attributes;
        attributes.drain_notify = asks;
        ASSERT_EQ(pair.client.go_to(QpState::sqd, attributes, kDrainNotify), Refusal::none);
        EXPECT_EQ(pair.client.events().size(), asks ? 1u : 0u);
    }
}

TEST(States, sqd_makes_good_what_is_lost) {
    Pair pair;
    pair.wire.drop(Operation::write_middle);
    pair.wire.drop(Operation::write_last, 2);
    pair.client.post({.work = Work::write, .length = 3000});
    pair.run(500_ns);
    ASSERT_EQ(pair.client.go_to(QpState::sqd), Refusal::none);
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
}

TEST(States, sqd_still_answers_the_peer) {
    Pair pair;
    ASSERT_EQ(pair.server.go_to(QpState::sqd), Refusal::none);
    pair.client.post({.work = Work::send, .length = 3000});
    pair.client.post({.work = Work::read, .length = 3000});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.client.completion().status, Status::success);
}

TEST(States, the_error_state_flushes_sends_and_receives_in_order) {
    Pair pair({.receives = 3});
    pair.client.lanes.room_bytes.fill(0);
    for (uint64_t i = 0; i < 3; ++i) pair.server.post({.work = Work::write, .length = 8, .id = i});
    ASSERT_EQ(pair.server.go_to(QpState::error), Refusal::none);
    for (uint64_t i = 0; i < 3; ++i) {
        const Completion sent = pair.server.completion();
        EXPECT_EQ(sent.id, i);
        EXPECT_EQ(sent.status, Status::flushed);
        EXPECT_EQ(sent.vendor_error, 0xf9u);
        const Completion received = pair.server.receive_completion();
        EXPECT_EQ(received.id, i);
        EXPECT_EQ(received.status, Status::flushed);
        EXPECT_EQ(received.vendor_error, 0xf9u);
    }
}

TEST(States, what_is_posted_in_the_error_state_is_flushed_at_once) {
    Pair pair({.receives = 0});
    ASSERT_EQ(pair.server.go_to(QpState::error), Refusal::none);
    EXPECT_EQ(pair.server.post({.work = Work::send, .length = 8, .flags = 0, .id = 5}),
              Refusal::none);
    EXPECT_EQ(pair.server.post_receive(0, 8, 6), Refusal::none);
    EXPECT_EQ(pair.server.completion().id, 5u);
    EXPECT_EQ(pair.server.receive_completion().id, 6u);
}

TEST(States, a_message_under_way_flushes_its_receive_first) {
    Pair pair({.receives = 2});
    pair.wire.drop(Operation::send_last);
    pair.client.post({.work = Work::send, .length = 3000});
    pair.run(10_us);
    ASSERT_EQ(pair.server.go_to(QpState::error), Refusal::none);
    EXPECT_EQ(pair.server.receive_completion().id, 0u);
    EXPECT_EQ(pair.server.receive_completion().id, 1u);
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::retry_exceeded);
}

TEST(States, an_error_says_nothing_more_to_the_peer) {
    Pair pair;
    pair.server.lanes.room_bytes.fill(0);
    pair.client.post({.work = Work::read, .length = 3000});
    pair.client.post({.work = Work::write, .length = 3000});
    pair.run(10_us);
    ASSERT_EQ(pair.server.go_to(QpState::error), Refusal::none);
    pair.server.lanes = Lanes::open();
    pair.run();
    EXPECT_EQ(pair.wire.count_to(pair.client.endpoint), 0u);
}

TEST(States, reset_forgets_everything_and_the_queue_pair_connects_anew) {
    Pair pair;
    pair.wire.drop(Operation::send_last);
    pair.wire.drop(Operation::read_request);
    pair.client.post({.work = Work::send, .length = 3000});
    pair.client.post({.work = Work::read, .length = 3000});
    pair.run(10_us);
    ASSERT_EQ(pair.client.go_to(QpState::reset), Refusal::none);
    ASSERT_EQ(pair.server.go_to(QpState::reset), Refusal::none);
    pair.run();
    EXPECT_EQ(pair.client.completions_waiting() + pair.server.completions_waiting(), 0u);
    pair.client.connect(pair.server, Psn{1}, Psn{0xff'fffe});
    pair.server.connect(pair.client, Psn{0xff'fffe}, Psn{1});
    pair.server.post_receive(kReceiveArea, 8192);
    pair.client.post({.work = Work::send, .length = 6000});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.server.receive_completion().byte_count, 6000u);
}

TEST(States, attributes_out_of_range_are_refused) {
    const auto refused = [](uint32_t bit, void (*spoil)(QpAttributes&)) {
        Pair pair;
        Host& host = pair.client;
        host.qpn = host.create_qp();
        EXPECT_EQ(host.go_to(QpState::init, {}, kPkeyIndex | kPort | kAccessFlags), Refusal::none);
        QpAttributes attributes;
        spoil(attributes);
        const uint32_t rtr = kToRtr;
        if ((rtr & bit) != 0) return host.go_to(QpState::rtr, attributes, rtr);
        EXPECT_EQ(host.go_to(QpState::rtr, {}, rtr), Refusal::none);
        return host.go_to(QpState::rts, attributes, kToRts | bit);
    };
    const Refusal no = Refusal::invalid_argument;
    EXPECT_EQ(refused(kPathMtu, [](QpAttributes& a) { a.path_mtu = 128; }), no);
    EXPECT_EQ(refused(kPathMtu, [](QpAttributes& a) { a.path_mtu = 1498; }), no);
    EXPECT_EQ(refused(kPathMtu, [](QpAttributes& a) { a.path_mtu = 0; }), no);
    // Not of the wire, but of fabrics that are modelled.
    EXPECT_EQ(refused(kPathMtu, [](QpAttributes& a) { a.path_mtu = 1000; }), Refusal::none);
    EXPECT_EQ(refused(kPathMtu, [](QpAttributes& a) { a.path_mtu = 256; }), Refusal::none);
    EXPECT_EQ(refused(kPathMtu, [](QpAttributes& a) { a.path_mtu = 8192; }), Refusal::none);
    EXPECT_EQ(refused(kPathMtu, [](QpAttributes& a) { a.path_mtu = 16384; }), no);
    EXPECT_EQ(refused(kTimeout, [](QpAttributes& a) { a.address.ack_timeout = 32; }), no);
    EXPECT_EQ(refused(kTimeout, [](QpAttributes& a) { a.address.ack_timeout = 31; }),
              Refusal::none);
    EXPECT_EQ(refused(kRetryCount, [](QpAttributes& a) { a.retry_count = 8; }), no);
    EXPECT_EQ(refused(kRnrRetry, [](QpAttributes& a) { a.rnr_retry = 8; }), no);
    EXPECT_EQ(refused(kMinRnrTimer, [](QpAttributes& a) { a.min_rnr_timer = 32; }), no);
    EXPECT_EQ(refused(kMinRnrTimer, [](QpAttributes& a) { a.min_rnr_timer = 31; }), Refusal::none);
    EXPECT_EQ(refused(kCurrentState, [](QpAttributes& a) { a.current_state = QpState::sqd; }), no);
    EXPECT_EQ(refused(kCurrentState, [](QpAttributes& a) { a.current_state = QpState::rtr; }),
              Refusal::none);
}

TEST(States, of_a_psn_only_24_bits_count) {
    Pair pair;
    for (Host* host : {&pair.client, &pair.server}) {
        ASSERT_EQ(host->go_to(QpState::reset), Refusal::none);
        host->connect(host == &pair.client ? pair.server : pair.client, Psn{0x7700'0010},
                      Psn{0x6600'0010});
    }
    pair.client.post({.work = Work::write, .length = 3000});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.wire.log[0].packet.psn(), Psn{0x10});
}

TEST(States, names_that_were_never_given_out_are_refused) {
    Pair pair;
    Adapter& adapter = pair.client.adapter;
    EXPECT_EQ(adapter.queue_pairs().modify(Qpn{0x999}, {}, kState), Refusal::invalid_argument);
    EXPECT_EQ(adapter.queue_pairs().destroy(Qpn{0x999}), Refusal::invalid_argument);
    EXPECT_EQ(adapter.post_send(Qpn{0x999}, {}), Refusal::invalid_argument);
    EXPECT_EQ(adapter.post_receive(Qpn{0x999}, {}), Refusal::invalid_argument);
    EXPECT_EQ(adapter.completions().destroy(CqId{9}), Refusal::invalid_argument);
    EXPECT_EQ(adapter.shared_receives().destroy(SrqId{9}), Refusal::invalid_argument);
    EXPECT_EQ(adapter.shared_receives().post(SrqId{9}, {}), Refusal::invalid_argument);
    QpSetup setup{.pd = pair.client.pd, .send_cq = CqId{9}, .receive_cq = CqId{1}};
    EXPECT_FALSE(adapter.queue_pairs().create(setup));
    setup = {.pd = PdId{77}, .send_cq = CqId{1}, .receive_cq = CqId{1}};
    EXPECT_FALSE(adapter.queue_pairs().create(setup));
}

TEST(States, what_is_in_use_cannot_be_destroyed) {
    Pair pair({.shared_receives = true});
    Host& host = pair.server;
    EXPECT_EQ(host.adapter.completions().destroy(host.send_cq), Refusal::busy);
    EXPECT_EQ(host.adapter.shared_receives().destroy(host.srq), Refusal::busy);
    EXPECT_EQ(host.adapter.memory().destroy_pd(host.pd), Refusal::busy);
    EXPECT_EQ(host.adapter.queue_pairs().destroy(host.qpn), Refusal::none);
    EXPECT_EQ(host.adapter.completions().destroy(host.send_cq), Refusal::none);
    EXPECT_EQ(host.adapter.shared_receives().destroy(host.srq), Refusal::none);
    EXPECT_EQ(host.adapter.memory().deregister_region(host.key), Refusal::none);
    EXPECT_EQ(host.adapter.memory().destroy_pd(host.pd), Refusal::none);
}

}  // namespace
}  // namespace tulle::transport
