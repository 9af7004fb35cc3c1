// The extended reliable connection (IBTA vol 1, annex A14), one rule a test: an initiator at the
// client, a target at the server, and shared receive queues that the requests name.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "pair.h"
#include "rules.h"
#include "wire/syndrome.h"

namespace tulle::transport {
namespace {

using wire::Operation;

// The PSNs wrap in each test.
const PairOptions kXrc{.type = QpType::xrc_initiator,
                       .receives = 8,
                       .client_psn = Psn{0xff'fffe},
                       .server_psn = Psn{0xff'fffe}};

TEST(Xrc, a_send_takes_its_receive_from_the_queue_it_names_and_completes_with_the_target) {
    for (const uint32_t length : {0u, 1u, 1024u, 5000u}) {
        Pair pair(kXrc);
        pair.client.post(
            {.work = Work::send_with_immediate, .length = length, .immediate = 9, .id = 5});
        pair.run();
        const Completion sent = pair.client.completion();
        EXPECT_EQ(sent.status, Status::success);
        EXPECT_EQ(sent.qpn, pair.client.qpn);
        const Completion received = pair.server.receive_completion();
        EXPECT_EQ(received.qpn, pair.server.qpn);
        EXPECT_EQ(received.byte_count, length);
        EXPECT_EQ(received.immediate_or_rkey, 9u);
        EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, kReceiveArea, length));
    }
}

TEST(Xrc, requests_carry_the_number_of_the_queue_and_responses_do_not) {
    Pair pair(kXrc);
    pair.client.post({.work = Work::send, .length = 3000});
    pair.run();
    for (const Sent& sent : pair.wire.log) {
        const auto& info = wire::opcode_info(static_cast<uint8_t>(sent.packet.opcode));
        EXPECT_EQ((info.headers & wire::kXrceth) != 0, !info.response);
        EXPECT_EQ(sent.packet.srq_or_ee, info.response ? 0 : pair.server.srq.value);
    }
}

TEST(Xrc, each_message_goes_to_the_queue_that_it_names) {
    Pair pair(kXrc);
    const SrqId other = pair.server.create_xrc_srq(pair.server.xrc_domain);
    pair.server.post_receive_to(other, 40);
    pair.client.post({.work = Work::send, .length = 100, .srq = other});
    pair.client.post({.work = Work::send, .length = 200});
    pair.run();
    EXPECT_EQ(pair.server.receive_completion().id, 40u);
    EXPECT_EQ(pair.server.receive_completion().id, 0u);
}

TEST(Xrc, writes_reads_and_atomics_work_as_on_a_reliable_connection) {
    Pair pair(kXrc);
    expect_writes_reads_and_atomics(pair);
}

// ---- receives that the queue's owner has completed elsewhere ------------------------------------

TEST(Xrc, a_receive_that_was_taken_completes_where_the_queue_says) {
    Pair pair(kXrc);
    Adapter& adapter = pair.server.adapter;
    const auto first = adapter.shared_receives().take(pair.server.srq);
    const auto second = adapter.shared_receives().take(pair.server.srq);
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->id, 0u);
    EXPECT_EQ(second->id, 1u);
    EXPECT_EQ(second->sges.size(), 1u);
    EXPECT_EQ(adapter.shared_receives().waiting(pair.server.srq), 6u);
    Completion done;
    done.status = Status::local_length_error;
    done.kind = CompletionKind::receive;
    done.qpn = Qpn{77};
    adapter.shared_receives().complete(pair.server.srq, second->place, done, false);
    const Completion received = pair.server.receive_completion();
    EXPECT_EQ(received.id, 1u);
    EXPECT_EQ(received.status, Status::local_length_error);
    EXPECT_EQ(received.qpn, Qpn{77});
    adapter.shared_receives().drop(pair.server.srq, first->place);
    EXPECT_EQ(adapter.shared_receives().waiting(pair.server.srq), 6u);
}

TEST(Xrc, a_receive_that_was_taken_and_given_back_is_the_next_again) {
    Pair pair(kXrc);
    Adapter& adapter = pair.server.adapter;
    const auto taken = adapter.shared_receives().take(pair.server.srq);
    ASSERT_TRUE(taken);
    adapter.shared_receives().give_back(pair.server.srq, taken->place);
    pair.client.post({.work = Work::send, .length = 100});
    pair.run();
    EXPECT_EQ(pair.server.receive_completion().id, 0u);
}

TEST(Xrc, receives_that_were_taken_count_as_waiting_until_they_are_done) {
    Pair pair(kXrc);
    Adapter& adapter = pair.server.adapter;
    EXPECT_EQ(adapter.shared_receives().set_limit(pair.server.srq, 8), Refusal::none);
    while (adapter.poll_event()) continue;
    const auto taken = adapter.shared_receives().take(pair.server.srq);
    ASSERT_TRUE(taken);
    EXPECT_FALSE(adapter.poll_event());
    Completion done;
    done.kind = CompletionKind::receive;
    adapter.shared_receives().complete(pair.server.srq, taken->place, done, false);
    const auto event = adapter.poll_event();
    ASSERT_TRUE(event);
    EXPECT_EQ(event->kind, EventKind::srq_limit_reached);
}

TEST(Xrc, a_broken_queue_gives_no_receive_away) {
    Pair pair(kXrc);
    EXPECT_EQ(pair.server.adapter.shared_receives().fail(pair.server.srq), Refusal::none);
    EXPECT_FALSE(pair.server.adapter.shared_receives().take(pair.server.srq));
    EXPECT_EQ(pair.server.adapter.shared_receives().waiting(pair.server.srq), 0u);
}

// What a request for this queue is told.
Status status_of_send_to(Pair& pair, SrqId srq, const Post& post) {
    Post named = post;
    named.srq = srq;
    pair.client.post(named);
    pair.run();
    return pair.client.completion().status;
}

TEST(Xrc, a_queue_that_does_not_exist_is_an_invalid_request) {
    for (const Work work : {Work::send, Work::write, Work::read, Work::fetch_add}) {
        Pair pair(kXrc);
        EXPECT_EQ(status_of_send_to(pair, SrqId{99}, {.work = work, .length = 8}),
                  Status::remote_invalid_request);
        EXPECT_EQ(pair.server.adapter.queue_pairs().find(pair.server.qpn)->state, QpState::error);
    }
}

TEST(Xrc, a_queue_of_another_domain_is_an_invalid_request) {
    Pair pair(kXrc);
    const SrqId foreign = pair.server.create_xrc_srq(pair.server.adapter.xrc_domains().create());
    pair.server.post_receive_to(foreign, 1);
    EXPECT_EQ(status_of_send_to(pair, foreign, {.work = Work::send, .length = 8}),
              Status::remote_invalid_request);
    EXPECT_TRUE(pair.server.receives.empty());
}

TEST(Xrc, a_queue_that_belongs_to_no_domain_is_an_invalid_request) {
    Pair pair(kXrc);
    const SrqId plain = *pair.server.adapter.shared_receives().create(pair.server.pd, 4, 1);
    pair.server.post_receive_to(plain, 1);
    EXPECT_EQ(status_of_send_to(pair, plain, {.work = Work::send, .length = 8}),
              Status::remote_invalid_request);
}

TEST(Xrc, an_empty_queue_is_not_ready_and_the_message_comes_again) {
    Pair pair(kXrc);
    const SrqId empty = pair.server.create_xrc_srq(pair.server.xrc_domain);
    pair.client.post({.work = Work::send, .length = 3000, .srq = empty});
    pair.run(base::Duration{100'000'000});
    EXPECT_GT(pair.server.counters().out_of_buffer, 0u);
    EXPECT_TRUE(pair.client.sends.empty());
    pair.server.post_receive_to(empty, 7);
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.server.receive_completion().id, 7u);
}

TEST(Xrc, the_loss_of_any_one_packet_is_repaired) {
    for (const Work work : {Work::send, Work::write, Work::read, Work::fetch_add}) {
        for (uint64_t lost = 1; lost <= 6; ++lost) {
            Pair pair(kXrc);
            pair.wire.drop_nth(lost);
            const uint32_t length = work == Work::fetch_add ? 8 : 3000;
            pair.client.post({.work = work, .length = length, .remote_offset = 0x8000});
            pair.client.post({.work = Work::send, .length = 10});
            pair.run();
            EXPECT_EQ(pair.client.completion().status, Status::success) << lost;
            EXPECT_EQ(pair.client.completion().status, Status::success) << lost;
            EXPECT_EQ(pair.server.receives.size(), work == Work::send ? 2u : 1u);
        }
    }
}

TEST(Xrc, silence_ends_the_initiator_as_it_ends_a_reliable_connection) {
    Pair pair(kXrc);
    pair.wire.drop_if([](const Packet&) { return true; });
    pair.client.post({.work = Work::send, .length = 10});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::retry_exceeded);
    EXPECT_EQ(pair.client.adapter.queue_pairs().find(pair.client.qpn)->state, QpState::error);
}

TEST(Xrc, two_initiators_send_to_one_queue_and_the_completions_tell_them_apart) {
    Pair pair(kXrc);
    const Pair::Connection second = pair.connect_xrc(pair.server.xrc_domain, pair.server.pd);
    pair.client.post({.work = Work::send, .length = 4000});
    pair.client.post({.work = Work::send, .length = 5000, .from = second.initiator});
    pair.run();
    std::vector<Completion> received = {pair.server.receive_completion(),
                                        pair.server.receive_completion()};
    for (const Completion& completion : received) {
        EXPECT_EQ(completion.status, Status::success);
        EXPECT_EQ(completion.byte_count, completion.qpn == second.target ? 5000u : 4000u);
    }
    EXPECT_NE(received[0].qpn, received[1].qpn);
    EXPECT_NE(received[0].id, received[1].id);
}

// The first packet of a SEND of three has arrived, the others have not.
void send_first_packet_only(Pair& pair) {
    pair.wire.drop_if([](const Packet& packet) {
        const auto operation = wire::operation_of(static_cast<uint8_t>(packet.opcode));
        return operation == Operation::send_middle || operation == Operation::send_last;
    });
    pair.client.post({.work = Work::send, .length = 3000});
    pair.run(base::Duration{10'000'000});
    pair.wire.drop_if({});
}

TEST(Xrc, a_message_keeps_its_queue_to_the_end) {
    Pair pair(kXrc);
    const SrqId other = pair.server.create_xrc_srq(pair.server.xrc_domain);
    pair.server.post_receive_to(other, 40);
    send_first_packet_only(pair);
    Packet stray = pair.wire.log[1].packet;
    stray.srq_or_ee = other.value;
    pair.inject(stray, pair.server.endpoint);
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::remote_invalid_request);
    const Completion flushed = pair.server.receive_completion();
    EXPECT_EQ(flushed.id, 0u);
    EXPECT_EQ(flushed.status, Status::flushed);
}

TEST(Xrc, a_queue_destroyed_amid_a_message_fails_the_message) {
    Pair pair(kXrc);
    send_first_packet_only(pair);
    EXPECT_EQ(pair.server.adapter.shared_receives().destroy(pair.server.srq), Refusal::none);
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::remote_invalid_request);
    EXPECT_TRUE(pair.server.receives.empty());
}

TEST(Xrc, a_target_destroyed_amid_a_message_gives_its_receive_back) {
    Pair pair(kXrc);
    const Pair::Connection second = pair.connect_xrc(pair.server.xrc_domain, pair.server.pd);
    send_first_packet_only(pair);
    EXPECT_EQ(pair.server.adapter.queue_pairs().destroy(pair.server.qpn), Refusal::none);
    pair.client.post({.work = Work::send, .length = 10, .from = second.initiator});
    pair.run();
    EXPECT_EQ(pair.server.receive_completion().id, 0u);
}

TEST(Xrc, the_limit_event_names_the_queue) {
    Pair pair(kXrc);
    pair.server.events();
    EXPECT_EQ(pair.server.adapter.shared_receives().set_limit(pair.server.srq, 8), Refusal::none);
    pair.client.post({.work = Work::send, .length = 10});
    pair.run();
    std::vector<AdapterEvent> events;
    while (const auto event = pair.server.adapter.poll_event())
        if (event->kind == EventKind::srq_limit_reached) events.push_back(*event);
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].subject, pair.server.srq.value);
}

TEST(Xrc, receives_are_of_the_queues_protection_domain_and_rdma_is_of_the_targets) {
    Pair pair(kXrc);
    Memory& memory = pair.server.adapter.memory();
    const Pair::Connection other = pair.connect_xrc(pair.server.xrc_domain, memory.create_pd());
    pair.client.post({.work = Work::send, .length = 100, .from = other.initiator});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    pair.client.post({.work = Work::write, .length = 100, .from = other.initiator});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::remote_access_error);
}

TEST(Xrc, a_target_without_a_protection_domain_uses_that_of_the_queue_named) {
    Pair pair(kXrc);
    Host& server = pair.server;
    const Pair::Connection shared = pair.connect_xrc(pair.server.xrc_domain, PdId{});
    pair.client.post({.work = Work::write, .length = 100, .from = shared.initiator});
    pair.client.post({.work = Work::read, .length = 100, .from = shared.initiator});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.client.completion().status, Status::success);
    const PdId elsewhere = server.adapter.memory().create_pd();
    const SrqId other = *server.adapter.shared_receives().create_for_xrc(
        pair.server.xrc_domain, elsewhere, server.receive_cq, 4, 1);
    pair.client.post({.work = Work::write, .length = 100, .from = shared.initiator, .srq = other});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::remote_access_error);
}

TEST(Xrc, a_send_that_is_too_long_fails_at_both_ends) {
    Pair pair(kXrc);
    const SrqId small = pair.server.create_xrc_srq(pair.server.xrc_domain);
    pair.server.post_receive_to(small, 3, 100);
    EXPECT_NE(status_of_send_to(pair, small, {.work = Work::send, .length = 200}), Status::success);
    const Completion received = pair.server.receive_completion();
    EXPECT_EQ(received.status, Status::local_length_error);
    EXPECT_EQ(received.qpn, pair.server.qpn);
}

TEST(Xrc, memory_that_goes_amid_a_read_is_told) {
    Pair pair(kXrc);
    Packet packet;
    pair.client.post({.work = Work::read, .length = 3000});
    Adapter& server = pair.server.adapter;
    ASSERT_TRUE(pair.client.adapter.poll_transmit(pair.now, Lanes::open(), packet));
    server.on_packet(pair.now, packet);
    EXPECT_EQ(server.memory().deregister_region(pair.server.key), Refusal::none);
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::remote_access_error);
}

TEST(Xrc, no_credits_are_granted) {
    Pair pair(kXrc);
    pair.client.post({.work = Work::send, .length = 10});
    pair.run();
    EXPECT_EQ(wire::ack_code(pair.wire.log[1].packet.extended.ack.syndrome), wire::kNoCredits);
}

TEST(Xrc, a_domain_stays_while_queues_or_targets_are_in_it) {
    Pair pair(kXrc);
    Adapter& adapter = pair.server.adapter;
    EXPECT_EQ(adapter.xrc_domains().destroy(pair.server.xrc_domain), Refusal::busy);
    EXPECT_EQ(adapter.shared_receives().destroy(pair.server.srq), Refusal::none);
    EXPECT_EQ(adapter.xrc_domains().destroy(pair.server.xrc_domain), Refusal::busy);
    EXPECT_EQ(adapter.queue_pairs().destroy(pair.server.qpn), Refusal::none);
    EXPECT_EQ(adapter.xrc_domains().destroy(pair.server.xrc_domain), Refusal::none);
    EXPECT_EQ(adapter.xrc_domains().destroy(pair.server.xrc_domain), Refusal::invalid_argument);
}

TEST(Xrc, a_completion_queue_stays_while_a_queue_completes_there) {
    Pair pair(kXrc);
    Adapter& adapter = pair.server.adapter;
    const CqId cq = adapter.completions().create(4);
    const SrqId srq =
        *adapter.shared_receives().create_for_xrc(pair.server.xrc_domain, pair.server.pd, cq, 4, 1);
    EXPECT_EQ(adapter.completions().destroy(cq), Refusal::busy);
    EXPECT_EQ(adapter.shared_receives().destroy(srq), Refusal::none);
    EXPECT_EQ(adapter.completions().destroy(cq), Refusal::none);
}

TEST(Xrc, what_has_no_place_in_a_domain_is_refused) {
    Pair pair(kXrc);
    Host& server = pair.server;
    Adapter& adapter = server.adapter;
    EXPECT_FALSE(adapter.shared_receives().create_for_xrc(XrcDomainId{9}, server.pd,
                                                          server.receive_cq, 4, 1));
    EXPECT_FALSE(adapter.shared_receives().create_for_xrc(pair.server.xrc_domain, server.pd,
                                                          CqId{99}, 4, 1));
    EXPECT_FALSE(adapter.queue_pairs().create({.type = QpType::xrc_target, .pd = server.pd}));
    EXPECT_FALSE(adapter.queue_pairs().create({.type = QpType::rc,
                                               .pd = server.pd,
                                               .send_cq = server.send_cq,
                                               .receive_cq = server.receive_cq,
                                               .srq = pair.server.srq}));
}

TEST(Xrc, a_target_does_not_send_and_an_initiator_does_not_receive) {
    Pair pair(kXrc);
    EXPECT_EQ(pair.server.adapter.post_send(pair.server.qpn, {}), Refusal::invalid_argument);
    EXPECT_EQ(pair.client.adapter.post_receive(pair.client.qpn, {}), Refusal::invalid_argument);
    pair.client.post({.work = Work::send, .length = 10});
    pair.run();
    Packet stray = pair.wire.log[0].packet;
    stray.source = pair.server.endpoint.value;
    stray.set_dest_qp(pair.client.qpn);
    pair.inject(stray, pair.client.endpoint);
    pair.run();
    EXPECT_EQ(pair.client.counters().dropped_silently, 1u);
    EXPECT_EQ(pair.wire.log.size(), 2u);
}

}  // namespace
}  // namespace tulle::transport
