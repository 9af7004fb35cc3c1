// Reliable datagrams (IBTA vol 1, 9.7), one rule a test: queue pairs at both ends, and one
// end-to-end context between the adapters that carries their messages.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "pair.h"
#include "wire/syndrome.h"

namespace tulle::transport {
namespace {

using wire::Operation;

constexpr uint32_t kReceiveArea = 1 << 19;
constexpr uint32_t kReceiveBytes = 8192;
constexpr QKey kSecret{0x77};
constexpr Psn kClientPsn{0xff'fffd};  // the PSNs wrap in each test
constexpr Psn kServerPsn{0x5a'0000};

Operation operation_of(const Packet& packet) {
    return wire::operation_of(static_cast<uint8_t>(packet.opcode));
}

class Rd {
public:
    explicit Rd(const PairOptions& options = {}) : pair(options) {
        client_domain = pair.client.adapter.create_rd_domain();
        server_domain = pair.server.adapter.create_rd_domain();
        client_ee = *pair.client.adapter.create_ee(client_domain);
        server_ee = *pair.server.adapter.create_ee(server_domain);
        connect(pair.client, client_ee, server_ee, kServerPsn, kClientPsn);
        connect(pair.server, server_ee, client_ee, kClientPsn, kServerPsn);
        sender = make_qp(pair.client, client_domain);
        receiver = make_qp(pair.server, server_domain);
        for (uint64_t i = 0; i < 8; ++i) post_receive(receiver, i);
    }

    void connect(Host& host, wire::EeContext ee, wire::EeContext peer, Psn receive, Psn send) {
        QpAttributes attributes;
        attributes.address = {.endpoint = EndpointIndex{3 - host.endpoint.value},
                              .ack_timeout = 14};
        attributes.path_mtu = host.options.mtu;
        attributes.dest_ee = peer;
        attributes.receive_psn = receive;
        attributes.send_psn = send;
        attributes.max_incoming_reads = 2;
        attributes.retry_count = host.options.retry_count;
        attributes.rnr_retry = host.options.rnr_retry;
        const auto step = [&](QpState state, uint32_t mask) {
            attributes.state = state;
            EXPECT_EQ(host.adapter.modify_ee(ee, attributes, mask | kState), Refusal::none);
        };
        step(QpState::init, kPkeyIndex | kPort);
        step(QpState::rtr, kAddress | kPathMtu | kDestEe | kReceivePsn | kMaxIncomingReads);
        step(QpState::rts, kTimeout | kRetryCount | kRnrRetry | kSendPsn);
    }

    Qpn make_qp(Host& host, RdDomainId domain, QKey qkey = kSecret) {
        const Qpn qpn =
            *host.adapter.create_qp({.type = QpType::rd,
                                     .pd = host.pd,
                                     .send_cq = host.send_cq,
                                     .receive_cq = host.receive_cq,
                                     .rd_domain = domain,
                                     .send = {.requests = 16, .sges = 2, .inline_bytes = 32}});
        bring_up(host, qpn, qkey);
        return qpn;
    }

    void bring_up(Host& host, Qpn qpn, QKey qkey = kSecret) {
        QpAttributes attributes;
        attributes.qkey = qkey;
        attributes.access = host.options.access;
        attributes.min_rnr_timer = 12;
        const auto step = [&](QpState state, uint32_t mask) {
            attributes.state = state;
            EXPECT_EQ(host.adapter.modify_qp(qpn, attributes, mask | kState), Refusal::none);
        };
        step(QpState::init, kQkey | kAccessFlags);
        step(QpState::rtr, kMinRnrTimer);
        step(QpState::rts, 0);
    }

    Refusal post_receive(Qpn to, uint64_t id, uint32_t length = kReceiveBytes) {
        const Sge sge{Host::kBase + kReceiveArea + id * kReceiveBytes, length, pair.server.key};
        return pair.server.adapter.post_receive(to, {id, std::span(&sge, 1)});
    }

    struct Way {
        std::optional<Qpn> from{};
        std::optional<Qpn> to{};
        QKey qkey = kSecret;
        std::optional<wire::EeContext> ee{};
    };
    Refusal post(const Post& post) { return this->post(post, Way{}); }
    Refusal post(const Post& post, const Way& way) {
        const Sge sge{Host::kBase + post.offset, post.length, post.lkey.value_or(pair.client.key)};
        SendRequest request;
        request.id = post.id;
        request.work = post.work;
        request.flags = post.flags;
        if (post.length != 0) request.sges = std::span(&sge, 1);
        if ((post.flags & kInline) != 0)
            request.inline_data = std::span(pair.client.memory).subspan(post.offset, post.length);
        request.remote_address = Host::kBase + post.remote_offset;
        request.rkey = post.rkey.value_or(pair.server.key);
        request.immediate = post.immediate;
        request.compare_or_add = post.compare_or_add;
        request.datagram = {.qpn = way.to.value_or(receiver), .qkey = way.qkey};
        request.ee_context = way.ee.value_or(client_ee);
        return pair.client.adapter.post_send(way.from.value_or(sender), request);
    }

    Status run_one() {
        pair.run();
        return pair.client.completion().status;
    }

    // A message goes through: the EE context serves.
    void expect_ee_serves() {
        const Qpn other = make_qp(pair.client, client_domain);
        const Qpn target = make_qp(pair.server, server_domain);
        post_receive(target, 20);
        pair.server.receives.clear();
        post({.work = Work::send, .length = 3000, .id = 900}, {.from = other, .to = target});
        pair.run();
        ASSERT_FALSE(pair.client.sends.empty());
        EXPECT_EQ(pair.client.sends.back().id, 900u);
        EXPECT_EQ(pair.client.sends.back().status, Status::success);
        EXPECT_EQ(pair.server.receive_completion().qpn, target);
    }

    size_t count(Operation operation) const {
        return static_cast<size_t>(
            std::count_if(pair.wire.log.begin(), pair.wire.log.end(),
                          [&](const Sent& s) { return operation_of(s.packet) == operation; }));
    }

    bool same(uint32_t at_client, uint32_t at_server, uint32_t length) const {
        return std::equal(pair.client.memory.begin() + at_client,
                          pair.client.memory.begin() + at_client + length,
                          pair.server.memory.begin() + at_server);
    }

    QpState state(Host& host, Qpn qpn) { return host.adapter.query_qp(qpn)->state; }
    QpState ee_state() { return pair.client.adapter.query_ee(client_ee)->requester->state; }

    Pair pair;
    RdDomainId client_domain;
    RdDomainId server_domain;
    wire::EeContext client_ee;
    wire::EeContext server_ee;
    Qpn sender;
    Qpn receiver;
};

uint64_t word_at(const Host& host, size_t offset) {
    uint64_t value = 0;
    std::memcpy(&value, host.memory.data() + offset, sizeof value);
    return value;
}

TEST(Rd, a_send_arrives_whole_and_names_both_queue_pairs) {
    for (const uint32_t length : {0u, 1u, 1024u, 5000u}) {
        Rd rd;
        rd.post({.work = Work::send_with_immediate, .length = length, .immediate = 8, .id = 3});
        rd.pair.run();
        const Completion sent = rd.pair.client.completion();
        EXPECT_EQ(sent.status, Status::success);
        EXPECT_EQ(sent.id, 3u);
        EXPECT_EQ(sent.qpn, rd.sender);
        const Completion received = rd.pair.server.receive_completion();
        EXPECT_EQ(received.status, Status::success);
        EXPECT_EQ(received.byte_count, length);
        EXPECT_EQ(received.qpn, rd.receiver);
        EXPECT_EQ(received.source_qp, rd.sender);
        EXPECT_EQ(received.immediate_or_rkey, 8u);
        EXPECT_TRUE(rd.same(0, kReceiveArea, length));
    }
}

TEST(Rd, inline_data_is_sent_as_it_was_when_posted) {
    Rd rd;
    const std::byte was = rd.pair.client.memory[5];
    rd.post({.work = Work::send, .length = 10, .offset = 5, .flags = kInline | kSignalled});
    rd.pair.client.memory[5] = ~was;
    EXPECT_EQ(rd.run_one(), Status::success);
    EXPECT_EQ(rd.pair.server.memory[kReceiveArea], was);
}

TEST(Rd, writes_reads_and_atomics_work_as_on_a_reliable_connection) {
    Rd rd;
    const uint64_t before = word_at(rd.pair.server, 0x9000);
    rd.post({.work = Work::write, .length = 5000, .remote_offset = 100});
    rd.post({.work = Work::read, .length = 5000, .offset = 0x1'0000, .remote_offset = 0x2'0000});
    rd.post({.work = Work::fetch_add,
             .length = 8,
             .offset = 0x2'0000,
             .remote_offset = 0x9000,
             .compare_or_add = 3});
    rd.post({.work = Work::write_with_immediate, .length = 10, .remote_offset = 6000});
    rd.pair.run();
    for (int i = 0; i < 4; ++i) EXPECT_EQ(rd.pair.client.completion().status, Status::success);
    EXPECT_TRUE(rd.same(0, 100, 5000));
    EXPECT_TRUE(rd.same(0x1'0000, 0x2'0000, 5000));
    EXPECT_EQ(word_at(rd.pair.client, 0x2'0000), before);
    EXPECT_EQ(word_at(rd.pair.server, 0x9000), before + 3);
    EXPECT_EQ(rd.pair.server.receive_completion().kind,
              CompletionKind::receive_write_with_immediate);
}

TEST(Rd, packets_name_the_peers_context_and_go_back_to_the_sender) {
    Rd rd;
    rd.post({.work = Work::write, .length = 3000});
    rd.post({.work = Work::fetch_add, .length = 8});
    rd.pair.run();
    for (const Sent& sent : rd.pair.wire.log) {
        const bool to_server = sent.to == rd.pair.server.endpoint;
        EXPECT_EQ(sent.packet.srq_or_ee, to_server ? rd.server_ee.value : rd.client_ee.value);
        EXPECT_EQ(sent.packet.dest_qp(), to_server ? rd.receiver : rd.sender);
    }
}

TEST(Rd, one_message_at_a_time_is_under_way_on_a_context) {
    Rd rd;
    const Qpn other = rd.make_qp(rd.pair.client, rd.client_domain);
    for (uint64_t i = 0; i < 3; ++i) {
        rd.post({.work = Work::send, .length = 3000, .id = i});
        rd.post({.work = Work::send, .length = 3000, .id = 10 + i}, {.from = other});
    }
    rd.pair.run();
    EXPECT_EQ(rd.pair.client.sends.size(), 6u);
    bool under_way = false;
    for (const Sent& sent : rd.pair.wire.log) {
        if (operation_of(sent.packet) == Operation::send_first) {
            EXPECT_FALSE(under_way);
            under_way = true;
        }
        if (operation_of(sent.packet) == Operation::acknowledge) under_way = false;
    }
}

TEST(Rd, queue_pairs_share_a_context_in_turn_and_each_keeps_its_order) {
    Rd rd;
    const Qpn other = rd.make_qp(rd.pair.client, rd.client_domain);
    for (uint64_t i = 0; i < 3; ++i) rd.post({.work = Work::write, .length = 100, .id = i});
    for (uint64_t i = 10; i < 13; ++i)
        rd.post({.work = Work::write, .length = 100, .id = i}, {.from = other});
    rd.pair.run();
    std::vector<uint64_t> ids;
    for (const Completion& completion : rd.pair.client.sends) ids.push_back(completion.id);
    EXPECT_EQ(ids, (std::vector<uint64_t>{0, 10, 1, 11, 2, 12}));
}

TEST(Rd, one_queue_pair_sends_to_many) {
    Rd rd;
    const Qpn second = rd.make_qp(rd.pair.server, rd.server_domain, QKey{5});
    rd.post_receive(second, 30);
    rd.post({.work = Work::send, .length = 10});
    rd.post({.work = Work::send, .length = 20}, {.to = second, .qkey = QKey{5}});
    rd.pair.run();
    EXPECT_EQ(rd.pair.server.receive_completion().qpn, rd.receiver);
    EXPECT_EQ(rd.pair.server.receive_completion().qpn, second);
}

TEST(Rd, both_ends_of_a_context_send_at_once) {
    Rd rd;
    const Sge into{Host::kBase + kReceiveArea, kReceiveBytes, rd.pair.client.key};
    rd.pair.client.adapter.post_receive(rd.sender, {1, std::span(&into, 1)});
    const Sge from{Host::kBase, 4000, rd.pair.server.key};
    SendRequest back;
    back.sges = std::span(&from, 1);
    back.datagram = {.qpn = rd.sender, .qkey = kSecret};
    back.ee_context = rd.server_ee;
    rd.pair.server.adapter.post_send(rd.receiver, back);
    rd.post({.work = Work::send, .length = 4000});
    rd.pair.run();
    EXPECT_EQ(rd.pair.client.completion().status, Status::success);
    EXPECT_EQ(rd.pair.server.completion().status, Status::success);
    EXPECT_EQ(rd.pair.client.receive_completion().byte_count, 4000u);
    EXPECT_EQ(rd.pair.server.receive_completion().byte_count, 4000u);
}

TEST(Rd, the_loss_of_any_one_packet_is_repaired) {
    for (const LossPolicy loss : {LossPolicy::go_back_n, LossPolicy::selective_repeat})
        for (const Work work : {Work::send, Work::write, Work::read, Work::fetch_add})
            for (uint64_t lost = 1; lost <= 6; ++lost) {
                Rd rd({.loss = loss});
                rd.pair.wire.drop_nth(lost);
                const uint32_t length = work == Work::fetch_add ? 8 : 3000;
                rd.post({.work = work, .length = length, .remote_offset = 0x8000});
                rd.post({.work = Work::send, .length = 10});
                rd.pair.run();
                EXPECT_EQ(rd.pair.client.completion().status, Status::success) << lost;
                EXPECT_EQ(rd.pair.client.completion().status, Status::success) << lost;
                EXPECT_EQ(rd.pair.server.receives.size(), work == Work::send ? 2u : 1u);
                EXPECT_EQ(rd.count(Operation::resync), 0u);
            }
}

TEST(Rd, an_atomic_whose_answer_was_lost_is_done_once) {
    Rd rd;
    const uint64_t before = word_at(rd.pair.server, 0x9000);
    rd.pair.wire.drop_nth(2);
    rd.post({.work = Work::fetch_add, .length = 8, .remote_offset = 0x9000, .compare_or_add = 1});
    EXPECT_EQ(rd.run_one(), Status::success);
    EXPECT_EQ(word_at(rd.pair.server, 0x9000), before + 1);
    EXPECT_EQ(word_at(rd.pair.client, 0), before);
}

TEST(Rd, a_wrong_qkey_is_an_invalid_rd_request) {
    Rd rd;
    rd.post({.work = Work::send, .length = 3000}, {.qkey = QKey{0x78}});
    EXPECT_EQ(rd.run_one(), Status::remote_invalid_rd_request);
    EXPECT_GT(rd.pair.server.counters().qkey_violations, 0u);
    EXPECT_TRUE(rd.pair.server.receives.empty());
    rd.expect_ee_serves();
}

TEST(Rd, every_kind_of_request_has_its_qkey_checked) {
    for (const Work work : {Work::write, Work::read, Work::fetch_add}) {
        Rd rd;
        rd.post({.work = work, .length = 8}, {.qkey = QKey{0x78}});
        EXPECT_EQ(rd.run_one(), Status::remote_invalid_rd_request);
    }
}

TEST(Rd, a_privileged_qkey_stands_for_the_senders_own) {
    Rd rd;
    rd.post({.work = Work::read, .length = 8}, {.qkey = QKey{0x8000'0000}});
    EXPECT_EQ(rd.run_one(), Status::success);
}

TEST(Rd, a_destination_of_another_domain_is_an_invalid_rd_request) {
    Rd rd;
    const Qpn foreign = rd.make_qp(rd.pair.server, rd.pair.server.adapter.create_rd_domain());
    rd.post_receive(foreign, 1);
    rd.post({.work = Work::send, .length = 10}, {.to = foreign});
    EXPECT_EQ(rd.run_one(), Status::remote_invalid_rd_request);
    rd.expect_ee_serves();
}

TEST(Rd, a_destination_that_is_no_queue_pair_of_rd_is_an_invalid_rd_request) {
    for (const uint32_t qpn : {0x12345u, 2u}) {  // none, and one of RC
        Rd rd;
        rd.post({.work = Work::send, .length = 10}, {.to = Qpn{qpn}});
        EXPECT_EQ(rd.run_one(), Status::remote_invalid_rd_request);
        rd.expect_ee_serves();
    }
}

TEST(Rd, a_destination_that_does_not_receive_is_an_invalid_rd_request) {
    Rd rd;
    rd.pair.server.adapter.modify_qp(rd.receiver, {.state = QpState::error}, kState);
    rd.post({.work = Work::send, .length = 10});
    EXPECT_EQ(rd.run_one(), Status::remote_invalid_rd_request);
}

TEST(Rd, a_context_of_another_domain_is_a_local_violation) {
    Rd rd;
    const Qpn foreign = rd.make_qp(rd.pair.client, rd.pair.client.adapter.create_rd_domain());
    rd.post({.work = Work::send, .length = 10}, {.from = foreign});
    EXPECT_EQ(rd.run_one(), Status::local_rdd_violation);
    EXPECT_TRUE(rd.pair.wire.log.empty());
}

TEST(Rd, a_context_that_does_not_exist_is_told) {
    Rd rd;
    rd.post({.work = Work::send, .length = 10}, {.ee = wire::EeContext{99}});
    EXPECT_EQ(rd.run_one(), Status::invalid_ee_context);
}

TEST(Rd, a_context_that_is_not_ready_to_send_is_told) {
    Rd rd;
    const auto fresh = *rd.pair.client.adapter.create_ee(rd.client_domain);
    rd.post({.work = Work::send, .length = 10}, {.ee = fresh});
    EXPECT_EQ(rd.run_one(), Status::invalid_ee_state);
}

TEST(Rd, a_failure_stops_the_send_queue_only_and_it_can_be_resumed) {
    Rd rd;
    rd.post({.work = Work::send, .length = 10, .id = 1}, {.qkey = QKey{0x78}});
    rd.post({.work = Work::send, .length = 10, .id = 2});
    rd.pair.run();
    EXPECT_EQ(rd.pair.client.completion().status, Status::remote_invalid_rd_request);
    EXPECT_EQ(rd.pair.client.completion().status, Status::flushed);
    EXPECT_EQ(rd.state(rd.pair.client, rd.sender), QpState::sqe);
    EXPECT_EQ(rd.state(rd.pair.server, rd.receiver), QpState::rts);
    EXPECT_EQ(rd.pair.client.adapter.modify_qp(rd.sender, {.state = QpState::rts}, kState),
              Refusal::none);
    rd.post({.work = Work::send, .length = 10, .id = 3});
    EXPECT_EQ(rd.run_one(), Status::success);
}

TEST(Rd, a_key_that_is_wrong_fails_the_message_and_not_the_context) {
    Rd rd;
    rd.post({.work = Work::write, .length = 3000, .rkey = 0xdead'beef});
    EXPECT_EQ(rd.run_one(), Status::remote_access_error);
    EXPECT_EQ(rd.state(rd.pair.server, rd.receiver), QpState::rts);
    rd.expect_ee_serves();
}

TEST(Rd, rights_that_the_destination_does_not_give_fail_the_message) {
    Rd rd({.access = kRemoteRead});
    rd.post({.work = Work::write, .length = 10});
    EXPECT_EQ(rd.run_one(), Status::remote_invalid_request);
    rd.expect_ee_serves();
}

TEST(Rd, local_memory_that_may_not_be_read_needs_no_resync) {
    Rd rd;
    rd.post({.work = Work::send, .length = 10, .lkey = 0xdead'beef});
    EXPECT_EQ(rd.run_one(), Status::local_protection_error);
    EXPECT_TRUE(rd.pair.wire.log.empty());
    rd.expect_ee_serves();
    EXPECT_EQ(rd.count(Operation::resync), 0u);
}

TEST(Rd, a_receive_that_is_too_short_fails_its_queue_pair_and_not_the_context) {
    Rd rd;
    const Qpn small = rd.make_qp(rd.pair.server, rd.server_domain);
    rd.post_receive(small, 0, 100);
    rd.post({.work = Work::send, .length = 3000}, {.to = small});
    rd.pair.run();
    EXPECT_NE(rd.pair.client.completion().status, Status::success);
    const Completion received = rd.pair.server.receive_completion();
    EXPECT_EQ(received.status, Status::local_length_error);
    EXPECT_EQ(received.qpn, small);
    EXPECT_EQ(rd.state(rd.pair.server, small), QpState::error);
    rd.expect_ee_serves();
}

TEST(Rd, a_refusal_that_was_lost_is_given_again) {
    Rd rd;
    rd.pair.wire.drop_nth(2);
    rd.post({.work = Work::send, .length = 10}, {.qkey = QKey{0x78}});
    EXPECT_EQ(rd.run_one(), Status::remote_invalid_rd_request);
    EXPECT_EQ(rd.pair.client.counters().local_ack_timeout_err, 1u);
}

TEST(Rd, a_message_without_a_receive_is_suspended_and_comes_again) {
    Rd rd;
    const Qpn empty = rd.make_qp(rd.pair.server, rd.server_domain);
    rd.post({.work = Work::send, .length = 3000}, {.to = empty});
    rd.pair.run(base::Duration{100'000'000});
    EXPECT_EQ(rd.count(Operation::resync), 1u);
    EXPECT_TRUE(rd.pair.client.sends.empty());
    rd.post_receive(empty, 5);
    EXPECT_EQ(rd.run_one(), Status::success);
    EXPECT_EQ(rd.pair.server.receive_completion().id, 5u);
    EXPECT_TRUE(rd.same(0, kReceiveArea + 5 * kReceiveBytes, 3000));
}

TEST(Rd, while_one_message_waits_for_a_receive_others_go_on) {
    Rd rd;
    const Qpn empty = rd.make_qp(rd.pair.server, rd.server_domain);
    const Qpn other = rd.make_qp(rd.pair.client, rd.client_domain);
    rd.post({.work = Work::send, .length = 10, .id = 1}, {.to = empty});
    rd.post({.work = Work::send, .length = 10, .id = 2}, {.from = other});
    rd.pair.run(base::Duration{50'000'000});  // the receiver asked for 640 us
    EXPECT_EQ(rd.pair.client.completion().id, 2u);
}

// The receiver was not ready and says so late: meanwhile it got the message that was sent again.
TEST(Rd, a_message_that_arrived_before_it_was_suspended_is_not_sent_again) {
    for (const bool before_it_comes_again : {true, false}) {
        Rd rd;
        const Qpn empty = rd.make_qp(rd.pair.server, rd.server_domain);
        const base::Duration by{70'000'000'000};  // more than the timeout of 67 ms
        rd.pair.wire.delay(Operation::acknowledge, 1, by);
        rd.pair.wire.delay(Operation::acknowledge, 2, by);
        // RESYNC is answered before or after the patience that was asked for is at its end.
        if (!before_it_comes_again)
            rd.pair.wire.delay(Operation::acknowledge, 3, base::Duration{10'000'000'000});
        rd.post({.work = Work::send, .length = 10, .id = 1}, {.to = empty});
        rd.post({.work = Work::send, .length = 10, .id = 2});
        rd.pair.run(base::Duration{1'000'000'000});
        rd.post_receive(empty, 5);
        rd.post_receive(empty, 6);
        rd.pair.run();
        EXPECT_EQ(rd.count(Operation::resync), 1u);
        EXPECT_EQ(rd.pair.client.completion().id, 1u);
        EXPECT_EQ(rd.pair.client.completion().id, 2u);
        EXPECT_EQ(rd.pair.server.receive_completion().id, 5u);
        EXPECT_EQ(rd.pair.server.receive_completion().qpn, rd.receiver);
        EXPECT_TRUE(rd.pair.server.receives.empty());
        rd.expect_ee_serves();
    }
}

TEST(Rd, a_receiver_that_is_never_ready_is_given_up_after_the_retries) {
    Rd rd({.rnr_retry = 2});
    const Qpn empty = rd.make_qp(rd.pair.server, rd.server_domain);
    rd.post({.work = Work::send, .length = 10}, {.to = empty});
    EXPECT_EQ(rd.run_one(), Status::rnr_retry_exceeded);
    EXPECT_EQ(rd.count(Operation::send_only), 3u);
    EXPECT_EQ(rd.pair.server.counters().out_of_buffer, 3u);
    rd.expect_ee_serves();
}

// All packets of messages for this queue pair are lost, but for RESYNC.
void lose_messages_for(Rd& rd, Qpn to) {
    rd.pair.wire.drop_if([to, host = rd.pair.server.endpoint](const Packet& packet) {
        return packet.destination == host.value && packet.dest_qp() == to &&
               operation_of(packet) != Operation::resync;
    });
}

TEST(Rd, a_message_that_is_given_up_is_followed_by_resync_and_others_go_on) {
    Rd rd({.retry_count = 2});
    const Qpn dead = rd.make_qp(rd.pair.server, rd.server_domain);
    const Qpn other = rd.make_qp(rd.pair.client, rd.client_domain);
    lose_messages_for(rd, dead);
    rd.post({.work = Work::send, .length = 3000, .id = 1}, {.to = dead});
    rd.post({.work = Work::send, .length = 3000, .id = 2}, {.from = other});
    rd.pair.run();
    EXPECT_EQ(rd.pair.client.completion().status, Status::retry_exceeded);
    const Completion second = rd.pair.client.completion();
    EXPECT_EQ(second.id, 2u);
    EXPECT_EQ(second.status, Status::success);
    EXPECT_EQ(rd.count(Operation::resync), 1u);
}

TEST(Rd, resync_goes_behind_the_message_and_counts_as_one) {
    Rd rd({.retry_count = 0});
    const Qpn dead = rd.make_qp(rd.pair.server, rd.server_domain);
    lose_messages_for(rd, dead);
    rd.post({.work = Work::send, .length = 3000}, {.to = dead});
    rd.pair.run();
    const auto& log = rd.pair.wire.log;
    ASSERT_EQ(log.size(), 5u);  // three lost, RESYNC and its acknowledgement
    EXPECT_EQ(log[3].packet.psn(), wire::psn_plus(kClientPsn, 3));
    EXPECT_EQ(log[4].packet.psn(), wire::psn_plus(kClientPsn, 3));
    EXPECT_EQ(log[4].packet.extended.ack.msn, 1u);
    rd.expect_ee_serves();
}

TEST(Rd, resync_or_its_acknowledgement_may_be_lost) {
    for (const uint64_t lost : {4u, 5u}) {
        Rd rd({.retry_count = 1});
        rd.pair.wire.drop_nth(lost);
        rd.post({.work = Work::write, .length = 3000}, {.qkey = QKey{1}});  // three packets, a NAK
        EXPECT_EQ(rd.run_one(), Status::remote_invalid_rd_request);
        rd.expect_ee_serves();
        EXPECT_EQ(rd.ee_state(), QpState::rts);
    }
}

// The first packet of a SEND of three has arrived, the others never do.
void lose_the_rest(Rd& rd) {
    rd.pair.wire.drop_if([](const Packet& packet) {
        return operation_of(packet) == Operation::send_middle ||
               operation_of(packet) == Operation::send_last;
    });
    rd.post({.work = Work::send, .length = 3000, .id = 1});
}

TEST(Rd, a_receive_whose_message_was_given_up_is_remotely_aborted) {
    Rd rd({.retry_count = 1});
    lose_the_rest(rd);
    EXPECT_EQ(rd.run_one(), Status::retry_exceeded);
    const Completion received = rd.pair.server.receive_completion();
    EXPECT_EQ(received.status, Status::remote_aborted);
    EXPECT_EQ(received.qpn, rd.receiver);
    EXPECT_EQ(rd.state(rd.pair.server, rd.receiver), QpState::rts);
    rd.pair.wire.drop_if({});
    rd.expect_ee_serves();
}

TEST(Rd, packets_of_a_message_given_up_that_come_late_do_nothing) {
    Rd rd({.retry_count = 0});
    lose_the_rest(rd);
    EXPECT_EQ(rd.run_one(), Status::retry_exceeded);
    rd.pair.server.receives.clear();
    for (size_t i = 0; i < 3; ++i)
        rd.pair.inject(rd.pair.wire.log[i].packet, rd.pair.server.endpoint);
    rd.pair.wire.drop_if({});
    rd.pair.run();
    EXPECT_TRUE(rd.pair.server.receives.empty());
    rd.expect_ee_serves();
}

TEST(Rd, silence_even_for_resync_ends_the_context) {
    Rd rd({.retry_count = 1});
    const Qpn other = rd.make_qp(rd.pair.client, rd.client_domain);
    rd.pair.wire.drop_if([](const Packet&) { return true; });
    rd.post({.work = Work::send, .length = 10, .id = 1});
    rd.post({.work = Work::send, .length = 10, .id = 2}, {.from = other});
    rd.pair.run();
    EXPECT_EQ(rd.pair.client.completion().status, Status::retry_exceeded);
    EXPECT_EQ(rd.pair.client.completion().status, Status::invalid_ee_state);
    EXPECT_EQ(rd.ee_state(), QpState::error);
    const auto events = rd.pair.client.events();
    EXPECT_EQ(std::count(events.begin(), events.end(), EventKind::ee_context_error), 1);
}

TEST(Rd, a_context_that_is_stopped_fails_the_message_under_way_at_both_ends) {
    Rd rd;
    lose_the_rest(rd);
    rd.pair.run(base::Duration{10'000'000});
    rd.pair.client.adapter.modify_ee(rd.client_ee, {.state = QpState::error}, kState);
    rd.pair.server.adapter.modify_ee(rd.server_ee, {.state = QpState::error}, kState);
    rd.pair.run();
    EXPECT_EQ(rd.pair.client.completion().status, Status::local_eec_operation_error);
    EXPECT_EQ(rd.pair.server.receive_completion().status, Status::local_eec_operation_error);
}

TEST(Rd, a_context_that_is_destroyed_fails_who_waits_for_it) {
    Rd rd;
    const Qpn other = rd.make_qp(rd.pair.client, rd.client_domain);
    lose_the_rest(rd);
    rd.post({.work = Work::send, .length = 10}, {.from = other});
    rd.pair.run(base::Duration{10'000'000});
    EXPECT_EQ(rd.pair.client.adapter.destroy_ee(rd.client_ee), Refusal::none);
    rd.pair.run();
    EXPECT_EQ(rd.pair.client.completion().status, Status::local_eec_operation_error);
    EXPECT_EQ(rd.pair.client.completion().status, Status::invalid_ee_context);
    EXPECT_EQ(rd.pair.client.adapter.destroy_ee(rd.client_ee), Refusal::invalid_argument);
}

TEST(Rd, a_context_that_was_reset_serves_again) {
    Rd rd;
    lose_the_rest(rd);
    rd.pair.run(base::Duration{10'000'000});
    rd.pair.wire.drop_if({});
    for (Host* host : {&rd.pair.client, &rd.pair.server})
        host->adapter.modify_ee(host == &rd.pair.client ? rd.client_ee : rd.server_ee,
                                {.state = QpState::reset}, kState);
    rd.connect(rd.pair.client, rd.client_ee, rd.server_ee, Psn{5}, Psn{9});
    rd.connect(rd.pair.server, rd.server_ee, rd.client_ee, Psn{9}, Psn{5});
    EXPECT_EQ(rd.run_one(), Status::local_eec_operation_error);
    rd.expect_ee_serves();
}

TEST(Rd, a_sender_that_is_stopped_or_destroyed_amid_a_message_leaves_the_context_to_others) {
    for (const bool destroyed : {false, true}) {
        Rd rd;
        lose_the_rest(rd);
        rd.pair.run(base::Duration{10'000'000});
        rd.pair.wire.drop_if({});
        Adapter& adapter = rd.pair.client.adapter;
        const Refusal refusal =
            destroyed ? adapter.destroy_qp(rd.sender)
                      : adapter.modify_qp(rd.sender, {.state = QpState::error}, kState);
        EXPECT_EQ(refusal, Refusal::none);
        rd.pair.run();
        EXPECT_EQ(rd.pair.client.sends.size(), destroyed ? 0u : 1u);
        EXPECT_EQ(rd.pair.server.receive_completion().status, Status::remote_aborted);
        EXPECT_EQ(rd.count(Operation::resync), 1u);
        rd.expect_ee_serves();
    }
}

TEST(Rd, a_sender_that_waits_its_turn_can_be_destroyed) {
    Rd rd;
    const Qpn other = rd.make_qp(rd.pair.client, rd.client_domain);
    lose_the_rest(rd);
    rd.post({.work = Work::send, .length = 10}, {.from = other});
    rd.pair.run(base::Duration{10'000'000});
    EXPECT_EQ(rd.pair.client.adapter.destroy_qp(other), Refusal::none);
    rd.pair.wire.drop_if({});
    EXPECT_EQ(rd.run_one(), Status::success);
    EXPECT_TRUE(rd.pair.client.sends.empty());
}

TEST(Rd, a_receiver_that_goes_amid_a_message_fails_the_message) {
    for (const bool destroyed : {false, true}) {
        Rd rd;
        lose_the_rest(rd);
        rd.pair.run(base::Duration{10'000'000});
        rd.pair.wire.drop_if({});
        Adapter& adapter = rd.pair.server.adapter;
        if (destroyed) {
            EXPECT_EQ(adapter.destroy_qp(rd.receiver), Refusal::none);
        } else {
            adapter.modify_qp(rd.receiver, {.state = QpState::error}, kState);
            EXPECT_EQ(rd.pair.server.receive_completion().status, Status::flushed);
        }
        EXPECT_EQ(rd.run_one(), Status::remote_invalid_rd_request);
        rd.expect_ee_serves();
    }
}

TEST(Rd, a_receiver_that_comes_back_amid_a_message_does_not_get_its_tail) {
    Rd rd;
    lose_the_rest(rd);
    rd.pair.run(base::Duration{10'000'000});
    rd.pair.wire.drop_if({});
    rd.pair.server.adapter.modify_qp(rd.receiver, {.state = QpState::reset}, kState);
    rd.bring_up(rd.pair.server, rd.receiver);
    rd.post_receive(rd.receiver, 7);
    EXPECT_EQ(rd.run_one(), Status::remote_invalid_request);
    EXPECT_TRUE(rd.pair.server.receives.empty());
    rd.expect_ee_serves();
}

TEST(Rd, a_queue_pair_drains_when_its_message_is_done) {
    Rd rd;
    rd.post({.work = Work::send, .length = 3000, .id = 1});
    rd.post({.work = Work::send, .length = 10, .id = 2});
    rd.pair.run(base::Duration{500'000});
    rd.pair.client.adapter.modify_qp(rd.sender, {.state = QpState::sqd, .drain_notify = true},
                                     kState | kDrainNotify);
    rd.pair.run();
    EXPECT_EQ(rd.pair.client.sends.size(), 1u);
    const auto events = rd.pair.client.events();
    EXPECT_EQ(std::count(events.begin(), events.end(), EventKind::sq_drained), 1);
    rd.pair.client.adapter.modify_qp(rd.sender, {.state = QpState::rts}, kState);
    rd.pair.run();
    EXPECT_EQ(rd.pair.client.sends.size(), 2u);
}

TEST(Rd, receives_may_come_from_a_shared_queue_of_another_protection_domain) {
    Rd rd;
    Host& server = rd.pair.server;
    const PdId pd = server.adapter.memory().create_pd();
    const uint32_t key = *server.adapter.memory().register_region(
        {pd, Host::kBase, server.memory.size(), server.memory.data(), kLocalWrite});
    const SrqId srq = *server.adapter.create_srq(pd, 4, 1);
    const Qpn shared = *server.adapter.create_qp({.type = QpType::rd,
                                                  .pd = server.pd,
                                                  .send_cq = server.send_cq,
                                                  .receive_cq = server.receive_cq,
                                                  .srq = srq,
                                                  .rd_domain = rd.server_domain});
    rd.bring_up(server, shared);
    const Sge sge{Host::kBase + kReceiveArea, kReceiveBytes, key};
    server.adapter.post_srq_receive(srq, {44, std::span(&sge, 1)});
    rd.post({.work = Work::send, .length = 3000}, {.to = shared});
    EXPECT_EQ(rd.run_one(), Status::success);
    EXPECT_EQ(server.receive_completion().id, 44u);
}

TEST(Rd, a_domain_stays_while_queue_pairs_or_contexts_are_in_it) {
    Rd rd;
    Adapter& adapter = rd.pair.client.adapter;
    EXPECT_EQ(adapter.destroy_rd_domain(rd.client_domain), Refusal::busy);
    EXPECT_EQ(adapter.destroy_qp(rd.sender), Refusal::none);
    EXPECT_EQ(adapter.destroy_rd_domain(rd.client_domain), Refusal::busy);
    EXPECT_EQ(adapter.destroy_ee(rd.client_ee), Refusal::none);
    EXPECT_EQ(adapter.destroy_rd_domain(rd.client_domain), Refusal::none);
    EXPECT_FALSE(adapter.create_ee(rd.client_domain));
}

TEST(Rd, the_halves_of_a_context_are_no_queue_pairs) {
    Rd rd;
    Adapter& adapter = rd.pair.client.adapter;
    EXPECT_EQ(adapter.queue_pairs(), 2u);  // one of RC, one of RD
    for (uint32_t qpn = 0; qpn < 16; ++qpn) {
        const QueuePair* qp = adapter.query_qp(Qpn{qpn});
        EXPECT_TRUE(qp == nullptr || qp->type <= QpType::xrc_target);
    }
    for (const QpType type : {QpType::ee_requester, QpType::ee_responder})
        EXPECT_FALSE(adapter.create_qp({.type = type,
                                        .pd = rd.pair.client.pd,
                                        .send_cq = rd.pair.client.send_cq,
                                        .receive_cq = rd.pair.client.receive_cq}));
}

TEST(Rd, a_packet_for_a_context_that_is_not_there_is_dropped) {
    Rd rd;
    rd.post({.work = Work::send, .length = 10});
    rd.pair.run();
    Packet stray = rd.pair.wire.log[0].packet;
    stray.srq_or_ee = 77;
    rd.pair.inject(stray, rd.pair.server.endpoint);
    EXPECT_EQ(rd.pair.server.counters().dropped_no_qp, 1u);
}

TEST(Rd, memory_that_goes_amid_a_read_is_told) {
    Rd rd;
    Packet packet;
    rd.post({.work = Work::read, .length = 3000});
    Adapter& client = rd.pair.client.adapter;
    Adapter& server = rd.pair.server.adapter;
    ASSERT_TRUE(client.poll_transmit(rd.pair.now, Lanes::open(), packet));
    server.on_packet(rd.pair.now, packet);
    ASSERT_TRUE(server.poll_transmit(rd.pair.now, Lanes::open(), packet));
    client.on_packet(rd.pair.now, packet);
    EXPECT_EQ(server.memory().deregister_region(rd.pair.server.key), Refusal::none);
    EXPECT_EQ(rd.run_one(), Status::remote_access_error);
    EXPECT_EQ(rd.count(Operation::resync), 1u);
}

// Three senders, two receivers of which one is often not ready, and a wire that loses one packet in
// `one_in`: each request completes once, in order, and what is told to have arrived has.
void send_over_a_bad_wire(uint64_t seed, uint32_t one_in, LossPolicy loss) {
    Rd rd({.loss = loss, .retry_count = 2});
    base::RandomStream random({seed, 1, 2});
    rd.pair.wire.drop_if([&](const Packet&) { return random.next() % one_in == 0; });
    const Qpn busy = rd.make_qp(rd.pair.server, rd.server_domain);
    std::vector<Qpn> from = {rd.sender, rd.make_qp(rd.pair.client, rd.client_domain),
                             rd.make_qp(rd.pair.client, rd.client_domain)};
    constexpr std::array kWorks = {Work::send, Work::write, Work::read, Work::fetch_add};
    for (uint64_t id = 0; id < 12; ++id) {
        const Work work = kWorks[random.next() % kWorks.size()];
        const uint32_t length = work == Work::fetch_add ? 8 : random.next() % 5000;
        rd.post({.work = work, .length = length, .remote_offset = 0x8000, .id = id},
                {.from = from[id % 3], .to = random.next() % 2 == 0 ? busy : rd.receiver});
    }
    for (uint64_t id = 8; id < 20; ++id) {
        rd.pair.run(base::Duration{400'000'000});
        rd.post_receive(busy, id);
        rd.post_receive(rd.receiver, id + 20);
    }
    rd.pair.run();
    std::vector<uint64_t> last(from.size(), 0);
    size_t arrived = 0;
    for (const Completion& completion : rd.pair.client.sends) {
        EXPECT_GE(completion.id, last[completion.id % 3]);
        last[completion.id % 3] = completion.id + 1;
        arrived += completion.status == Status::success && completion.kind == CompletionKind::send;
    }
    EXPECT_EQ(rd.pair.client.sends.size(), 12u) << seed;
    const auto received =
        std::count_if(rd.pair.server.receives.begin(), rd.pair.server.receives.end(),
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
