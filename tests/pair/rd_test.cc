// Reliable datagrams (IBTA vol 1, 9.7), one rule a test: queue pairs at both ends, and one
// end-to-end context between the adapters that carries their messages.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "pair.h"
#include "rules.h"
#include "wire/syndrome.h"

namespace tulle::transport {
namespace {

using wire::Operation;

constexpr Psn kClientPsn{0xff'fffd};  // the PSNs wrap in each test

PairOptions rd(PairOptions options = {}) {
    options.type = QpType::rd;
    options.receives = 8;
    options.client_psn = kClientPsn;
    return options;
}

Operation operation_of(const Packet& packet) {
    return wire::operation_of(static_cast<uint8_t>(packet.opcode));
}

Status run_one(Pair& pair) {
    pair.run();
    return pair.client.completion().status;
}

// A message goes through: the EE context serves.
void expect_ee_serves(Pair& pair) {
    const Qpn other = pair.client.add_rd_qp(pair.client.rd_domain);
    const Qpn target = pair.server.add_rd_qp(pair.server.rd_domain);
    pair.server.post_receive_to(target, 20);
    pair.server.receives.clear();
    pair.client.post({.work = Work::send, .length = 3000, .id = 900, .from = other, .to = target});
    pair.run();
    ASSERT_FALSE(pair.client.sends.empty());
    EXPECT_EQ(pair.client.sends.back().id, 900u);
    EXPECT_EQ(pair.client.sends.back().status, Status::success);
    EXPECT_EQ(pair.server.receive_completion().qpn, target);
}

QpState state(Host& host, Qpn qpn) {
    return host.adapter.queue_pairs().find(qpn)->state;
}

QpState ee_state(Host& host) {
    return host.adapter.ee_contexts().find(host.ee)->requester->state;
}

TEST(Rd, a_send_arrives_whole_and_names_both_queue_pairs) {
    for (const uint32_t length : {0u, 1u, 1024u, 5000u}) {
        Pair pair(rd());
        pair.client.post(
            {.work = Work::send_with_immediate, .length = length, .immediate = 8, .id = 3});
        pair.run();
        const Completion sent = pair.client.completion();
        EXPECT_EQ(sent.status, Status::success);
        EXPECT_EQ(sent.id, 3u);
        EXPECT_EQ(sent.qpn, pair.client.qpn);
        const Completion received = pair.server.receive_completion();
        EXPECT_EQ(received.status, Status::success);
        EXPECT_EQ(received.byte_count, length);
        EXPECT_EQ(received.qpn, pair.server.qpn);
        EXPECT_EQ(received.source_qp, pair.client.qpn);
        EXPECT_EQ(received.immediate_or_rkey, 8u);
        EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, kReceiveArea, length));
    }
}

// The queue pair has no lane of its own: that of service level 0 may have no room for ever.
TEST(Rd, a_message_needs_room_in_the_lane_of_its_context_alone) {
    Pair pair(rd({.service_level = 6}));
    pair.client.lanes.room_bytes.fill(0);
    pair.client.lanes.room_bytes[6] = UINT32_MAX;
    pair.client.post({.work = Work::write, .length = 5000});
    EXPECT_EQ(run_one(pair), Status::success);
}

// Nor does it wait behind another one that is in line there with nothing to send.
TEST(Rd, a_message_does_not_wait_behind_idle_queue_pairs_of_a_lane_without_room) {
    Pair pair(rd({.service_level = 6}));
    const Qpn other = pair.client.add_rd_qp(pair.client.rd_domain);
    pair.client.lanes.room_bytes.fill(0);
    pair.client.lanes.room_bytes[6] = UINT32_MAX;
    pair.client.post({.work = Work::write, .length = 5000, .from = other});
    EXPECT_EQ(run_one(pair), Status::success);
}

TEST(Rd, inline_data_is_sent_as_it_was_when_posted) {
    Pair pair(rd());
    const std::byte was = pair.client.memory[5];
    pair.client.post(
        {.work = Work::send, .length = 10, .offset = 5, .flags = kInline | kSignalled});
    pair.client.memory[5] = ~was;
    EXPECT_EQ(run_one(pair), Status::success);
    EXPECT_EQ(pair.server.memory[kReceiveArea], was);
}

TEST(Rd, writes_reads_and_atomics_work_as_on_a_reliable_connection) {
    Pair pair(rd());
    expect_writes_reads_and_atomics(pair);
}

TEST(Rd, packets_name_the_peers_context_and_go_back_to_the_sender) {
    Pair pair(rd());
    pair.client.post({.work = Work::write, .length = 3000});
    pair.client.post({.work = Work::fetch_add, .length = 8});
    pair.run();
    for (const Sent& sent : pair.wire.log) {
        const bool to_server = sent.to == pair.server.endpoint;
        EXPECT_EQ(sent.packet.srq_or_ee, to_server ? pair.server.ee.value : pair.client.ee.value);
        EXPECT_EQ(sent.packet.dest_qp(), to_server ? pair.server.qpn : pair.client.qpn);
    }
}

TEST(Rd, one_message_at_a_time_is_under_way_on_a_context) {
    Pair pair(rd());
    const Qpn other = pair.client.add_rd_qp(pair.client.rd_domain);
    for (uint64_t i = 0; i < 3; ++i) {
        pair.client.post({.work = Work::send, .length = 3000, .id = i});
        pair.client.post({.work = Work::send, .length = 3000, .id = 10 + i, .from = other});
    }
    pair.run();
    EXPECT_EQ(pair.client.sends.size(), 6u);
    bool under_way = false;
    for (const Sent& sent : pair.wire.log) {
        if (operation_of(sent.packet) == Operation::send_first) {
            EXPECT_FALSE(under_way);
            under_way = true;
        }
        if (operation_of(sent.packet) == Operation::acknowledge) under_way = false;
    }
}

TEST(Rd, queue_pairs_share_a_context_in_turn_and_each_keeps_its_order) {
    Pair pair(rd());
    const Qpn other = pair.client.add_rd_qp(pair.client.rd_domain);
    for (uint64_t i = 0; i < 3; ++i)
        pair.client.post({.work = Work::write, .length = 100, .id = i});
    for (uint64_t i = 10; i < 13; ++i)
        pair.client.post({.work = Work::write, .length = 100, .id = i, .from = other});
    pair.run();
    std::vector<uint64_t> ids;
    for (const Completion& completion : pair.client.sends) ids.push_back(completion.id);
    EXPECT_EQ(ids, (std::vector<uint64_t>{0, 10, 1, 11, 2, 12}));
}

TEST(Rd, one_queue_pair_sends_to_many) {
    Pair pair(rd());
    const Qpn second = pair.server.add_rd_qp(pair.server.rd_domain, QKey{5});
    pair.server.post_receive_to(second, 30);
    pair.client.post({.work = Work::send, .length = 10});
    pair.client.post({.work = Work::send, .length = 20, .to = second, .qkey = QKey{5}});
    pair.run();
    EXPECT_EQ(pair.server.receive_completion().qpn, pair.server.qpn);
    EXPECT_EQ(pair.server.receive_completion().qpn, second);
}

TEST(Rd, both_ends_of_a_context_send_at_once) {
    Pair pair(rd());
    pair.client.post_receive_to(pair.client.qpn, 1);
    pair.server.post({.work = Work::send, .length = 4000});
    pair.client.post({.work = Work::send, .length = 4000});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.server.completion().status, Status::success);
    EXPECT_EQ(pair.client.receive_completion().byte_count, 4000u);
    EXPECT_EQ(pair.server.receive_completion().byte_count, 4000u);
}

TEST(Rd, the_loss_of_any_one_packet_is_repaired) {
    for (const LossPolicy loss : {LossPolicy::go_back_n, LossPolicy::selective_repeat})
        for (const Work work : {Work::send, Work::write, Work::read, Work::fetch_add})
            for (uint64_t lost = 1; lost <= 6; ++lost) {
                Pair pair(rd({.loss = loss}));
                pair.wire.drop_nth(lost);
                const uint32_t length = work == Work::fetch_add ? 8 : 3000;
                pair.client.post({.work = work, .length = length, .remote_offset = 0x8000});
                pair.client.post({.work = Work::send, .length = 10});
                pair.run();
                EXPECT_EQ(pair.client.completion().status, Status::success) << lost;
                EXPECT_EQ(pair.client.completion().status, Status::success) << lost;
                EXPECT_EQ(pair.server.receives.size(), work == Work::send ? 2u : 1u);
                EXPECT_EQ(pair.wire.count(Operation::resync), 0u);
            }
}

TEST(Rd, an_atomic_whose_answer_was_lost_is_done_once) {
    Pair pair(rd());
    const uint64_t before = pair.server.word(0x9000);
    pair.wire.drop_nth(2);
    pair.client.post(
        {.work = Work::fetch_add, .length = 8, .remote_offset = 0x9000, .compare_or_add = 1});
    EXPECT_EQ(run_one(pair), Status::success);
    EXPECT_EQ(pair.server.word(0x9000), before + 1);
    EXPECT_EQ(pair.client.word(0), before);
}

TEST(Rd, a_wrong_qkey_is_an_invalid_rd_request) {
    Pair pair(rd());
    pair.client.post({.work = Work::send, .length = 3000, .qkey = QKey{0x78}});
    EXPECT_EQ(run_one(pair), Status::remote_invalid_rd_request);
    EXPECT_GT(pair.server.counters().qkey_violations, 0u);
    EXPECT_TRUE(pair.server.receives.empty());
    expect_ee_serves(pair);
}

TEST(Rd, every_kind_of_request_has_its_qkey_checked) {
    for (const Work work : {Work::write, Work::read, Work::fetch_add}) {
        Pair pair(rd());
        pair.client.post({.work = work, .length = 8, .qkey = QKey{0x78}});
        EXPECT_EQ(run_one(pair), Status::remote_invalid_rd_request);
    }
}

TEST(Rd, a_privileged_qkey_stands_for_the_senders_own) {
    Pair pair(rd());
    pair.client.post({.work = Work::read, .length = 8, .qkey = QKey{0x8000'0000}});
    EXPECT_EQ(run_one(pair), Status::success);
}

TEST(Rd, a_destination_of_another_domain_is_an_invalid_rd_request) {
    Pair pair(rd());
    const Qpn foreign = pair.server.add_rd_qp(pair.server.adapter.rd_domains().create());
    pair.server.post_receive_to(foreign, 1);
    pair.client.post({.work = Work::send, .length = 10, .to = foreign});
    EXPECT_EQ(run_one(pair), Status::remote_invalid_rd_request);
    expect_ee_serves(pair);
}

TEST(Rd, a_destination_that_is_no_queue_pair_of_rd_is_an_invalid_rd_request) {
    for (const bool is_there : {false, true}) {
        Pair pair(rd());
        QpSetup connected = pair.server.setup();
        connected.type = QpType::rc;
        connected.rd_domain = {};
        const Qpn qpn = is_there ? pair.server.create_qp(connected) : Qpn{0x12345};
        pair.client.post({.work = Work::send, .length = 10, .to = qpn});
        EXPECT_EQ(run_one(pair), Status::remote_invalid_rd_request);
        expect_ee_serves(pair);
    }
}

TEST(Rd, a_destination_that_does_not_receive_is_an_invalid_rd_request) {
    Pair pair(rd());
    pair.server.adapter.queue_pairs().modify(pair.server.qpn, {.state = QpState::error}, kState);
    pair.client.post({.work = Work::send, .length = 10});
    EXPECT_EQ(run_one(pair), Status::remote_invalid_rd_request);
}

TEST(Rd, a_context_of_another_domain_is_a_local_violation) {
    Pair pair(rd());
    const Qpn foreign = pair.client.add_rd_qp(pair.client.adapter.rd_domains().create());
    pair.client.post({.work = Work::send, .length = 10, .from = foreign});
    EXPECT_EQ(run_one(pair), Status::local_rdd_violation);
    EXPECT_TRUE(pair.wire.log.empty());
}

TEST(Rd, a_context_that_does_not_exist_is_told) {
    Pair pair(rd());
    pair.client.post({.work = Work::send, .length = 10, .ee = wire::EeContext{99}});
    EXPECT_EQ(run_one(pair), Status::invalid_ee_context);
}

TEST(Rd, a_context_that_is_not_ready_to_send_is_told) {
    Pair pair(rd());
    const auto fresh = *pair.client.adapter.ee_contexts().create(pair.client.rd_domain);
    pair.client.post({.work = Work::send, .length = 10, .ee = fresh});
    EXPECT_EQ(run_one(pair), Status::invalid_ee_state);
}

TEST(Rd, a_failure_stops_the_send_queue_only_and_it_can_be_resumed) {
    Pair pair(rd());
    pair.client.post({.work = Work::send, .length = 10, .id = 1, .qkey = QKey{0x78}});
    pair.client.post({.work = Work::send, .length = 10, .id = 2});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::remote_invalid_rd_request);
    EXPECT_EQ(pair.client.completion().status, Status::flushed);
    EXPECT_EQ(state(pair.client, pair.client.qpn), QpState::sqe);
    EXPECT_EQ(state(pair.server, pair.server.qpn), QpState::rts);
    EXPECT_EQ(
        pair.client.adapter.queue_pairs().modify(pair.client.qpn, {.state = QpState::rts}, kState),
        Refusal::none);
    pair.client.post({.work = Work::send, .length = 10, .id = 3});
    EXPECT_EQ(run_one(pair), Status::success);
}

TEST(Rd, a_key_that_is_wrong_fails_the_message_and_not_the_context) {
    Pair pair(rd());
    pair.client.post({.work = Work::write, .length = 3000, .rkey = 0xdead'beef});
    EXPECT_EQ(run_one(pair), Status::remote_access_error);
    EXPECT_EQ(state(pair.server, pair.server.qpn), QpState::rts);
    expect_ee_serves(pair);
}

TEST(Rd, rights_that_the_destination_does_not_give_fail_the_message) {
    Pair pair(rd({.access = kRemoteRead}));
    pair.client.post({.work = Work::write, .length = 10});
    EXPECT_EQ(run_one(pair), Status::remote_invalid_request);
    expect_ee_serves(pair);
}

TEST(Rd, local_memory_that_may_not_be_read_needs_no_resync) {
    Pair pair(rd());
    pair.client.post({.work = Work::send, .length = 10, .lkey = 0xdead'beef});
    EXPECT_EQ(run_one(pair), Status::local_protection_error);
    EXPECT_TRUE(pair.wire.log.empty());
    expect_ee_serves(pair);
    EXPECT_EQ(pair.wire.count(Operation::resync), 0u);
}

TEST(Rd, a_receive_that_is_too_short_fails_its_queue_pair_and_not_the_context) {
    Pair pair(rd());
    const Qpn small = pair.server.add_rd_qp(pair.server.rd_domain);
    pair.server.post_receive_to(small, 0, 100);
    pair.client.post({.work = Work::send, .length = 3000, .to = small});
    pair.run();
    EXPECT_NE(pair.client.completion().status, Status::success);
    const Completion received = pair.server.receive_completion();
    EXPECT_EQ(received.status, Status::local_length_error);
    EXPECT_EQ(received.qpn, small);
    EXPECT_EQ(state(pair.server, small), QpState::error);
    expect_ee_serves(pair);
}

TEST(Rd, a_refusal_that_was_lost_is_given_again) {
    Pair pair(rd());
    pair.wire.drop_nth(2);
    pair.client.post({.work = Work::send, .length = 10, .qkey = QKey{0x78}});
    EXPECT_EQ(run_one(pair), Status::remote_invalid_rd_request);
    EXPECT_EQ(pair.client.counters().local_ack_timeout_err, 1u);
}

TEST(Rd, a_message_without_a_receive_is_suspended_and_comes_again) {
    Pair pair(rd());
    const Qpn empty = pair.server.add_rd_qp(pair.server.rd_domain);
    pair.client.post({.work = Work::send, .length = 3000, .to = empty});
    pair.run(base::Duration{100'000'000});
    EXPECT_EQ(pair.wire.count(Operation::resync), 1u);
    EXPECT_TRUE(pair.client.sends.empty());
    pair.server.post_receive_to(empty, 5);
    EXPECT_EQ(run_one(pair), Status::success);
    EXPECT_EQ(pair.server.receive_completion().id, 5u);
    EXPECT_TRUE(
        same_bytes(pair.client, 0, pair.server, kReceiveArea + 5 * Host::kReceiveBytes, 3000));
}

TEST(Rd, while_one_message_waits_for_a_receive_others_go_on) {
    Pair pair(rd());
    const Qpn empty = pair.server.add_rd_qp(pair.server.rd_domain);
    const Qpn other = pair.client.add_rd_qp(pair.client.rd_domain);
    pair.client.post({.work = Work::send, .length = 10, .id = 1, .to = empty});
    pair.client.post({.work = Work::send, .length = 10, .id = 2, .from = other});
    pair.run(base::Duration{50'000'000});  // the receiver asked for 640 us
    EXPECT_EQ(pair.client.completion().id, 2u);
}

// The receiver was not ready and says so late: meanwhile it got the message that was sent again.
TEST(Rd, a_message_that_arrived_before_it_was_suspended_is_not_sent_again) {
    for (const bool before_it_comes_again : {true, false}) {
        Pair pair(rd());
        const Qpn empty = pair.server.add_rd_qp(pair.server.rd_domain);
        const base::Duration by{70'000'000'000};  // more than the timeout of 67 ms
        pair.wire.delay(Operation::acknowledge, 1, by);
        pair.wire.delay(Operation::acknowledge, 2, by);
        // RESYNC is answered before or after the patience that was asked for is at its end.
        if (!before_it_comes_again)
            pair.wire.delay(Operation::acknowledge, 3, base::Duration{10'000'000'000});
        pair.client.post({.work = Work::send, .length = 10, .id = 1, .to = empty});
        pair.client.post({.work = Work::send, .length = 10, .id = 2});
        pair.run(base::Duration{1'000'000'000});
        pair.server.post_receive_to(empty, 5);
        pair.server.post_receive_to(empty, 6);
        pair.run();
        EXPECT_EQ(pair.wire.count(Operation::resync), 1u);
        EXPECT_EQ(pair.client.completion().id, 1u);
        EXPECT_EQ(pair.client.completion().id, 2u);
        EXPECT_EQ(pair.server.receive_completion().id, 5u);
        EXPECT_EQ(pair.server.receive_completion().qpn, pair.server.qpn);
        EXPECT_TRUE(pair.server.receives.empty());
        expect_ee_serves(pair);
    }
}

TEST(Rd, a_receiver_that_is_never_ready_is_given_up_after_the_retries) {
    Pair pair(rd({.rnr_retry = 2}));
    const Qpn empty = pair.server.add_rd_qp(pair.server.rd_domain);
    pair.client.post({.work = Work::send, .length = 10, .to = empty});
    EXPECT_EQ(run_one(pair), Status::rnr_retry_exceeded);
    EXPECT_EQ(pair.wire.count(Operation::send_only), 3u);
    EXPECT_EQ(pair.server.counters().out_of_buffer, 3u);
    expect_ee_serves(pair);
}

// All packets of messages for this queue pair are lost, but for RESYNC.
void lose_messages_for(Pair& pair, Qpn to) {
    pair.wire.drop_if([to, host = pair.server.endpoint](const Packet& packet) {
        return packet.destination == host.value && packet.dest_qp() == to &&
               operation_of(packet) != Operation::resync;
    });
}

TEST(Rd, a_message_that_is_given_up_is_followed_by_resync_and_others_go_on) {
    Pair pair(rd({.retry_count = 2}));
    const Qpn dead = pair.server.add_rd_qp(pair.server.rd_domain);
    const Qpn other = pair.client.add_rd_qp(pair.client.rd_domain);
    lose_messages_for(pair, dead);
    pair.client.post({.work = Work::send, .length = 3000, .id = 1, .to = dead});
    pair.client.post({.work = Work::send, .length = 3000, .id = 2, .from = other});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::retry_exceeded);
    const Completion second = pair.client.completion();
    EXPECT_EQ(second.id, 2u);
    EXPECT_EQ(second.status, Status::success);
    EXPECT_EQ(pair.wire.count(Operation::resync), 1u);
}

TEST(Rd, resync_goes_behind_the_message_and_counts_as_one) {
    Pair pair(rd({.retry_count = 0}));
    const Qpn dead = pair.server.add_rd_qp(pair.server.rd_domain);
    lose_messages_for(pair, dead);
    pair.client.post({.work = Work::send, .length = 3000, .to = dead});
    pair.run();
    const auto& log = pair.wire.log;
    ASSERT_EQ(log.size(), 5u);  // three lost, RESYNC and its acknowledgement
    EXPECT_EQ(log[3].packet.psn(), wire::psn_plus(kClientPsn, 3));
    EXPECT_EQ(log[4].packet.psn(), wire::psn_plus(kClientPsn, 3));
    EXPECT_EQ(log[4].packet.extended.ack.msn, 1u);
    expect_ee_serves(pair);
}

TEST(Rd, resync_or_its_acknowledgement_may_be_lost) {
    for (const uint64_t lost : {4u, 5u}) {
        Pair pair(rd({.retry_count = 1}));
        pair.wire.drop_nth(lost);
        pair.client.post(
            {.work = Work::write, .length = 3000, .qkey = QKey{1}});  // three packets, a NAK
        EXPECT_EQ(run_one(pair), Status::remote_invalid_rd_request);
        expect_ee_serves(pair);
        EXPECT_EQ(ee_state(pair.client), QpState::rts);
    }
}

// The first packet of a SEND of three has arrived, the others never do.
void lose_the_rest(Pair& pair) {
    pair.wire.drop_if([](const Packet& packet) {
        return operation_of(packet) == Operation::send_middle ||
               operation_of(packet) == Operation::send_last;
    });
    pair.client.post({.work = Work::send, .length = 3000, .id = 1});
}

TEST(Rd, a_receive_whose_message_was_given_up_is_remotely_aborted) {
    Pair pair(rd({.retry_count = 1}));
    lose_the_rest(pair);
    EXPECT_EQ(run_one(pair), Status::retry_exceeded);
    const Completion received = pair.server.receive_completion();
    EXPECT_EQ(received.status, Status::remote_aborted);
    EXPECT_EQ(received.qpn, pair.server.qpn);
    EXPECT_EQ(state(pair.server, pair.server.qpn), QpState::rts);
    pair.wire.drop_if({});
    expect_ee_serves(pair);
}

TEST(Rd, packets_of_a_message_given_up_that_come_late_do_nothing) {
    Pair pair(rd({.retry_count = 0}));
    lose_the_rest(pair);
    EXPECT_EQ(run_one(pair), Status::retry_exceeded);
    pair.server.receives.clear();
    for (size_t i = 0; i < 3; ++i) pair.inject(pair.wire.log[i].packet, pair.server.endpoint);
    pair.wire.drop_if({});
    pair.run();
    EXPECT_TRUE(pair.server.receives.empty());
    expect_ee_serves(pair);
}

TEST(Rd, silence_even_for_resync_ends_the_context) {
    Pair pair(rd({.retry_count = 1}));
    const Qpn other = pair.client.add_rd_qp(pair.client.rd_domain);
    pair.wire.drop_if([](const Packet&) { return true; });
    pair.client.post({.work = Work::send, .length = 10, .id = 1});
    pair.client.post({.work = Work::send, .length = 10, .id = 2, .from = other});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::retry_exceeded);
    EXPECT_EQ(pair.client.completion().status, Status::response_timeout);
    EXPECT_EQ(ee_state(pair.client), QpState::error);
    const auto events = pair.client.events();
    EXPECT_EQ(std::count(events.begin(), events.end(), EventKind::ee_context_error), 1);
}

TEST(Rd, a_context_that_is_stopped_fails_the_message_under_way_at_both_ends) {
    Pair pair(rd());
    lose_the_rest(pair);
    pair.run(base::Duration{10'000'000});
    pair.client.adapter.ee_contexts().modify(pair.client.ee, {.state = QpState::error}, kState);
    pair.server.adapter.ee_contexts().modify(pair.server.ee, {.state = QpState::error}, kState);
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::local_eec_operation_error);
    EXPECT_EQ(pair.server.receive_completion().status, Status::local_eec_operation_error);
}

TEST(Rd, a_context_that_is_destroyed_fails_who_waits_for_it) {
    Pair pair(rd());
    const Qpn other = pair.client.add_rd_qp(pair.client.rd_domain);
    lose_the_rest(pair);
    pair.client.post({.work = Work::send, .length = 10, .from = other});
    pair.run(base::Duration{10'000'000});
    EXPECT_EQ(pair.client.adapter.ee_contexts().destroy(pair.client.ee), Refusal::none);
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::local_eec_operation_error);
    EXPECT_EQ(pair.client.completion().status, Status::invalid_ee_context);
    EXPECT_EQ(pair.client.adapter.ee_contexts().destroy(pair.client.ee), Refusal::invalid_argument);
}

TEST(Rd, a_context_that_was_reset_serves_again) {
    Pair pair(rd());
    lose_the_rest(pair);
    pair.run(base::Duration{10'000'000});
    pair.wire.drop_if({});
    for (Host* host : {&pair.client, &pair.server})
        host->adapter.ee_contexts().modify(host == &pair.client ? pair.client.ee : pair.server.ee,
                                           {.state = QpState::reset}, kState);
    pair.client.connect_ee(pair.server, Psn{5}, Psn{9});
    pair.server.connect_ee(pair.client, Psn{9}, Psn{5});
    EXPECT_EQ(run_one(pair), Status::local_eec_operation_error);
    expect_ee_serves(pair);
}

TEST(Rd, a_sender_that_is_stopped_or_destroyed_amid_a_message_leaves_the_context_to_others) {
    for (const bool destroyed : {false, true}) {
        Pair pair(rd());
        lose_the_rest(pair);
        pair.run(base::Duration{10'000'000});
        pair.wire.drop_if({});
        Adapter& adapter = pair.client.adapter;
        const Refusal refusal = destroyed ? adapter.queue_pairs().destroy(pair.client.qpn)
                                          : adapter.queue_pairs().modify(
                                                pair.client.qpn, {.state = QpState::error}, kState);
        EXPECT_EQ(refusal, Refusal::none);
        pair.run();
        EXPECT_EQ(pair.client.sends.size(), destroyed ? 0u : 1u);
        EXPECT_EQ(pair.server.receive_completion().status, Status::remote_aborted);
        EXPECT_EQ(pair.wire.count(Operation::resync), 1u);
        expect_ee_serves(pair);
    }
}

TEST(Rd, a_sender_that_waits_its_turn_can_be_destroyed) {
    Pair pair(rd());
    const Qpn other = pair.client.add_rd_qp(pair.client.rd_domain);
    lose_the_rest(pair);
    pair.client.post({.work = Work::send, .length = 10, .from = other});
    pair.run(base::Duration{10'000'000});
    EXPECT_EQ(pair.client.adapter.queue_pairs().destroy(other), Refusal::none);
    pair.wire.drop_if({});
    EXPECT_EQ(run_one(pair), Status::success);
    EXPECT_TRUE(pair.client.sends.empty());
}

TEST(Rd, a_receiver_that_goes_amid_a_message_fails_the_message) {
    for (const bool destroyed : {false, true}) {
        Pair pair(rd());
        lose_the_rest(pair);
        pair.run(base::Duration{10'000'000});
        pair.wire.drop_if({});
        Adapter& adapter = pair.server.adapter;
        if (destroyed) {
            EXPECT_EQ(adapter.queue_pairs().destroy(pair.server.qpn), Refusal::none);
        } else {
            adapter.queue_pairs().modify(pair.server.qpn, {.state = QpState::error}, kState);
            EXPECT_EQ(pair.server.receive_completion().status, Status::flushed);
        }
        EXPECT_EQ(run_one(pair), Status::remote_invalid_rd_request);
        expect_ee_serves(pair);
    }
}

TEST(Rd, a_receiver_that_comes_back_amid_a_message_does_not_get_its_tail) {
    Pair pair(rd());
    lose_the_rest(pair);
    pair.run(base::Duration{10'000'000});
    pair.wire.drop_if({});
    pair.server.adapter.queue_pairs().modify(pair.server.qpn, {.state = QpState::reset}, kState);
    pair.server.start_rd_qp(pair.server.qpn);
    pair.server.post_receive_to(pair.server.qpn, 7);
    EXPECT_EQ(run_one(pair), Status::remote_invalid_request);
    EXPECT_TRUE(pair.server.receives.empty());
    expect_ee_serves(pair);
}

TEST(Rd, a_queue_pair_drains_when_its_message_is_done) {
    Pair pair(rd());
    pair.client.post({.work = Work::send, .length = 3000, .id = 1});
    pair.client.post({.work = Work::send, .length = 10, .id = 2});
    pair.run(base::Duration{500'000});
    pair.client.adapter.queue_pairs().modify(
        pair.client.qpn, {.state = QpState::sqd, .drain_notify = true}, kState | kDrainNotify);
    pair.run();
    EXPECT_EQ(pair.client.sends.size(), 1u);
    const auto events = pair.client.events();
    EXPECT_EQ(std::count(events.begin(), events.end(), EventKind::sq_drained), 1);
    pair.client.adapter.queue_pairs().modify(pair.client.qpn, {.state = QpState::rts}, kState);
    pair.run();
    EXPECT_EQ(pair.client.sends.size(), 2u);
}

TEST(Rd, receives_may_come_from_a_shared_queue_of_another_protection_domain) {
    Pair pair(rd());
    Host& server = pair.server;
    const PdId pd = server.adapter.memory().create_pd();
    const uint32_t key = *server.adapter.memory().register_region(
        {pd, Host::kBase, server.memory.size(), server.memory.data(), kLocalWrite});
    const SrqId srq = *server.adapter.shared_receives().create(pd, 4, 1);
    const Qpn shared = *server.adapter.queue_pairs().create({.type = QpType::rd,
                                                             .pd = server.pd,
                                                             .send_cq = server.send_cq,
                                                             .receive_cq = server.receive_cq,
                                                             .srq = srq,
                                                             .rd_domain = pair.server.rd_domain});
    server.start_rd_qp(shared);
    const Sge sge{Host::kBase + kReceiveArea, Host::kReceiveBytes, key};
    server.adapter.shared_receives().post(srq, {44, std::span(&sge, 1)});
    pair.client.post({.work = Work::send, .length = 3000, .to = shared});
    EXPECT_EQ(run_one(pair), Status::success);
    EXPECT_EQ(server.receive_completion().id, 44u);
}

TEST(Rd, a_domain_stays_while_queue_pairs_or_contexts_are_in_it) {
    Pair pair(rd());
    Adapter& adapter = pair.client.adapter;
    EXPECT_EQ(adapter.rd_domains().destroy(pair.client.rd_domain), Refusal::busy);
    EXPECT_EQ(adapter.queue_pairs().destroy(pair.client.qpn), Refusal::none);
    EXPECT_EQ(adapter.rd_domains().destroy(pair.client.rd_domain), Refusal::busy);
    EXPECT_EQ(adapter.ee_contexts().destroy(pair.client.ee), Refusal::none);
    EXPECT_EQ(adapter.rd_domains().destroy(pair.client.rd_domain), Refusal::none);
    EXPECT_FALSE(adapter.ee_contexts().create(pair.client.rd_domain));
}

TEST(Rd, the_halves_of_a_context_are_no_queue_pairs) {
    Pair pair(rd());
    Adapter& adapter = pair.client.adapter;
    EXPECT_EQ(adapter.queue_pairs().count(), 1u);
    for (uint32_t qpn = 0; qpn < 16; ++qpn) {
        const QueuePair* qp = adapter.queue_pairs().find(Qpn{qpn});
        EXPECT_TRUE(qp == nullptr || qp->type <= QpType::xrc_target);
    }
    for (const QpType type : {QpType::ee_requester, QpType::ee_responder})
        EXPECT_FALSE(adapter.queue_pairs().create({.type = type,
                                                   .pd = pair.client.pd,
                                                   .send_cq = pair.client.send_cq,
                                                   .receive_cq = pair.client.receive_cq}));
}

TEST(Rd, a_packet_for_a_context_that_is_not_there_is_dropped) {
    Pair pair(rd());
    pair.client.post({.work = Work::send, .length = 10});
    pair.run();
    Packet stray = pair.wire.log[0].packet;
    stray.srq_or_ee = 77;
    pair.inject(stray, pair.server.endpoint);
    EXPECT_EQ(pair.server.counters().dropped_no_qp, 1u);
}

TEST(Rd, memory_that_goes_amid_a_read_is_told) {
    Pair pair(rd());
    Packet packet;
    pair.client.post({.work = Work::read, .length = 3000});
    Adapter& client = pair.client.adapter;
    Adapter& server = pair.server.adapter;
    ASSERT_TRUE(client.poll_transmit(pair.now, Lanes::open(), packet));
    server.on_packet(pair.now, packet);
    ASSERT_TRUE(server.poll_transmit(pair.now, Lanes::open(), packet));
    client.on_packet(pair.now, packet);
    EXPECT_EQ(server.memory().deregister_region(pair.server.key), Refusal::none);
    EXPECT_EQ(run_one(pair), Status::remote_access_error);
    EXPECT_EQ(pair.wire.count(Operation::resync), 1u);
}

// Three senders, two receivers of which one is often not ready, and a wire that loses one packet in
// `one_in`: each request completes once, in order, and what is told to have arrived has.
void send_over_a_bad_wire(uint64_t seed, uint32_t one_in, LossPolicy loss) {
    Pair pair(rd({.loss = loss, .retry_count = 2}));
    base::RandomStream random({seed, 1, 2});
    pair.wire.drop_if([&](const Packet&) { return random.next() % one_in == 0; });
    const Qpn busy = pair.server.add_rd_qp(pair.server.rd_domain);
    std::vector<Qpn> from = {pair.client.qpn, pair.client.add_rd_qp(pair.client.rd_domain),
                             pair.client.add_rd_qp(pair.client.rd_domain)};
    constexpr std::array kWorks = {Work::send, Work::write, Work::read, Work::fetch_add};
    for (uint64_t id = 0; id < 12; ++id) {
        const Work work = kWorks[random.next() % kWorks.size()];
        const uint32_t length = work == Work::fetch_add ? 8 : random.next() % 5000;
        pair.client.post({.work = work,
                          .length = length,
                          .remote_offset = 0x8000,
                          .id = id,
                          .from = from[id % 3],
                          .to = random.next() % 2 == 0 ? busy : pair.server.qpn});
    }
    for (uint64_t id = 8; id < 20; ++id) {
        pair.run(base::Duration{400'000'000});
        pair.server.post_receive_to(busy, id);
        pair.server.post_receive_to(pair.server.qpn, id + 20);
    }
    pair.run();
    std::vector<uint64_t> last(from.size(), 0);
    size_t arrived = 0;
    for (const Completion& completion : pair.client.sends) {
        EXPECT_GE(completion.id, last[completion.id % 3]);
        last[completion.id % 3] = completion.id + 1;
        arrived += completion.status == Status::success && completion.kind == CompletionKind::send;
    }
    EXPECT_EQ(pair.client.sends.size(), 12u) << seed;
    const auto received =
        std::count_if(pair.server.receives.begin(), pair.server.receives.end(),
                      [](const Completion& c) { return c.status == Status::success; });
    EXPECT_GE(static_cast<size_t>(received), arrived) << seed;
}

TEST(Rd, over_a_bad_wire_each_request_completes_once_and_in_order) {
    for (const LossPolicy loss : {LossPolicy::go_back_n, LossPolicy::selective_repeat})
        for (const uint32_t one_in : {3u, 10u, 40u})
            for (uint64_t seed = 0; seed < 40; ++seed) send_over_a_bad_wire(seed, one_in, loss);
}

}  // namespace
}  // namespace tulle::transport
