// The extended reliable connection (IBTA vol 1, annex A14), one rule a test: an initiator at the
// client, a target at the server, and shared receive queues that the requests name.
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
constexpr uint32_t kMtu = 1024;

QpAttributes attributes_for(EndpointIndex peer, Qpn peer_qpn) {
    QpAttributes attributes;
    attributes.access = kRemoteWrite | kRemoteRead | kRemoteAtomic;
    attributes.address = {.endpoint = peer, .ack_timeout = 14};
    attributes.path_mtu = kMtu;
    attributes.dest_qpn = peer_qpn;
    attributes.receive_psn = attributes.send_psn = Psn{0xff'fffe};  // the PSNs wrap in each test
    attributes.max_reads = attributes.max_incoming_reads = 4;
    attributes.min_rnr_timer = 12;
    return attributes;
}

void expect_step(Adapter& adapter, Qpn qpn, QpAttributes attributes, QpState state, uint32_t mask) {
    attributes.state = state;
    EXPECT_EQ(adapter.modify_qp(qpn, attributes, mask | kState), Refusal::none);
}

struct Connection {
    Qpn initiator;
    Qpn target;
};

class Xrc {
public:
    explicit Xrc(const PairOptions& options = {}) : pair(options) {
        domain = pair.server.adapter.create_xrc_domain();
        srq = make_srq(domain);
        for (uint64_t i = 0; i < 8; ++i) post_receive(srq, i);
        first = connect(domain, pair.server.pd);
    }

    SrqId make_srq(XrcDomainId of) {
        Host& server = pair.server;
        return *server.adapter.create_xrc_srq(of, server.pd, server.receive_cq, 16, 1);
    }

    Refusal post_receive(SrqId to, uint64_t id, uint32_t length = kReceiveBytes) {
        const Sge sge{Host::kBase + kReceiveArea + id * kReceiveBytes, length, pair.server.key};
        return pair.server.adapter.post_srq_receive(to, {id, std::span(&sge, 1)});
    }

    Connection connect(XrcDomainId of, PdId target_pd) {
        Host& client = pair.client;
        Host& server = pair.server;
        Connection made;
        made.initiator =
            *client.adapter.create_qp({.type = QpType::xrc_initiator,
                                       .pd = client.pd,
                                       .send_cq = client.send_cq,
                                       .send = {.requests = 16, .sges = 1, .inline_bytes = 0}});
        made.target = *server.adapter.create_qp(
            {.type = QpType::xrc_target, .pd = target_pd, .xrc_domain = of});
        const auto sends = attributes_for(server.endpoint, made.target);
        const auto receives = attributes_for(client.endpoint, made.initiator);
        const uint32_t to_init = kPkeyIndex | kPort | kAccessFlags;
        const uint32_t to_rtr = kAddress | kPathMtu | kDestQpn | kReceivePsn;
        expect_step(client.adapter, made.initiator, sends, QpState::init, to_init);
        expect_step(client.adapter, made.initiator, sends, QpState::rtr, to_rtr);
        expect_step(client.adapter, made.initiator, sends, QpState::rts,
                    kTimeout | kRetryCount | kRnrRetry | kMaxReads | kSendPsn);
        expect_step(server.adapter, made.target, receives, QpState::init, to_init);
        expect_step(server.adapter, made.target, receives, QpState::rtr,
                    to_rtr | kMaxIncomingReads | kMinRnrTimer);
        return made;
    }

    Refusal post(const Post& post) { return post_to(srq, post, first.initiator); }

    Refusal post_to(SrqId to, const Post& post, Qpn initiator) {
        const Sge sge{Host::kBase + post.offset, post.length, pair.client.key};
        SendRequest request;
        request.id = post.id;
        request.work = post.work;
        if (post.length != 0) request.sges = std::span(&sge, 1);
        request.remote_address = Host::kBase + post.remote_offset;
        request.rkey = pair.server.key;
        request.immediate = post.immediate;
        request.compare_or_add = post.compare_or_add;
        request.remote_srq.value = to.value;
        return pair.client.adapter.post_send(initiator, request);
    }

    bool arrived(uint32_t from, uint32_t to, uint32_t length) const {
        return std::equal(pair.client.memory.begin() + from,
                          pair.client.memory.begin() + from + length,
                          pair.server.memory.begin() + to);
    }

    Pair pair;
    XrcDomainId domain;
    SrqId srq;
    Connection first;
};

uint64_t word_at(const Host& host, size_t offset) {
    uint64_t value = 0;
    std::memcpy(&value, host.memory.data() + offset, sizeof value);
    return value;
}

TEST(Xrc, a_send_takes_its_receive_from_the_queue_it_names_and_completes_with_the_target) {
    for (const uint32_t length : {0u, 1u, 1024u, 5000u}) {
        Xrc xrc;
        xrc.post({.work = Work::send_with_immediate, .length = length, .immediate = 9, .id = 5});
        xrc.pair.run();
        const Completion sent = xrc.pair.client.completion();
        EXPECT_EQ(sent.status, Status::success);
        EXPECT_EQ(sent.qpn, xrc.first.initiator);
        const Completion received = xrc.pair.server.receive_completion();
        EXPECT_EQ(received.qpn, xrc.first.target);
        EXPECT_EQ(received.byte_count, length);
        EXPECT_EQ(received.immediate_or_rkey, 9u);
        EXPECT_TRUE(xrc.arrived(0, kReceiveArea, length));
    }
}

TEST(Xrc, requests_carry_the_number_of_the_queue_and_responses_do_not) {
    Xrc xrc;
    xrc.post({.work = Work::send, .length = 3000});
    xrc.pair.run();
    for (const Sent& sent : xrc.pair.wire.log) {
        const auto& info = wire::opcode_info(static_cast<uint8_t>(sent.packet.opcode));
        EXPECT_EQ((info.headers & wire::kXrceth) != 0, !info.response);
        EXPECT_EQ(sent.packet.srq_or_ee, info.response ? 0 : xrc.srq.value);
    }
}

TEST(Xrc, each_message_goes_to_the_queue_that_it_names) {
    Xrc xrc;
    const SrqId other = xrc.make_srq(xrc.domain);
    xrc.post_receive(other, 40);
    xrc.post_to(other, {.work = Work::send, .length = 100}, xrc.first.initiator);
    xrc.post({.work = Work::send, .length = 200});
    xrc.pair.run();
    EXPECT_EQ(xrc.pair.server.receive_completion().id, 40u);
    EXPECT_EQ(xrc.pair.server.receive_completion().id, 0u);
}

TEST(Xrc, writes_reads_and_atomics_work_as_on_a_reliable_connection) {
    Xrc xrc;
    const uint64_t before = word_at(xrc.pair.server, 0x9000);
    xrc.post({.work = Work::write, .length = 5000, .remote_offset = 100});
    xrc.post({.work = Work::read, .length = 5000, .offset = 0x1'0000, .remote_offset = 0x2'0000});
    xrc.post({.work = Work::fetch_add,
              .length = 8,
              .offset = 0x2'0000,
              .remote_offset = 0x9000,
              .compare_or_add = 3});
    xrc.post({.work = Work::write_with_immediate, .length = 10, .remote_offset = 6000});
    xrc.pair.run();
    for (int i = 0; i < 4; ++i) EXPECT_EQ(xrc.pair.client.completion().status, Status::success);
    EXPECT_TRUE(xrc.arrived(0, 100, 5000));
    EXPECT_TRUE(xrc.arrived(0x1'0000, 0x2'0000, 5000));
    EXPECT_EQ(word_at(xrc.pair.client, 0x2'0000), before);
    EXPECT_EQ(word_at(xrc.pair.server, 0x9000), before + 3);
    EXPECT_EQ(xrc.pair.server.receive_completion().kind,
              CompletionKind::receive_write_with_immediate);
}

// What a request for this queue is told.
Status status_of_send_to(Xrc& xrc, SrqId srq, const Post& post) {
    xrc.post_to(srq, post, xrc.first.initiator);
    xrc.pair.run();
    return xrc.pair.client.completion().status;
}

TEST(Xrc, a_queue_that_does_not_exist_is_an_invalid_request) {
    for (const Work work : {Work::send, Work::write, Work::read, Work::fetch_add}) {
        Xrc xrc;
        EXPECT_EQ(status_of_send_to(xrc, SrqId{99}, {.work = work, .length = 8}),
                  Status::remote_invalid_request);
        EXPECT_EQ(xrc.pair.server.adapter.query_qp(xrc.first.target)->state, QpState::error);
    }
}

TEST(Xrc, a_queue_of_another_domain_is_an_invalid_request) {
    Xrc xrc;
    const SrqId foreign = xrc.make_srq(xrc.pair.server.adapter.create_xrc_domain());
    xrc.post_receive(foreign, 1);
    EXPECT_EQ(status_of_send_to(xrc, foreign, {.work = Work::send, .length = 8}),
              Status::remote_invalid_request);
    EXPECT_TRUE(xrc.pair.server.receives.empty());
}

TEST(Xrc, a_queue_that_belongs_to_no_domain_is_an_invalid_request) {
    Xrc xrc;
    const SrqId plain = *xrc.pair.server.adapter.create_srq(xrc.pair.server.pd, 4, 1);
    xrc.post_receive(plain, 1);
    EXPECT_EQ(status_of_send_to(xrc, plain, {.work = Work::send, .length = 8}),
              Status::remote_invalid_request);
}

TEST(Xrc, an_empty_queue_is_not_ready_and_the_message_comes_again) {
    Xrc xrc;
    const SrqId empty = xrc.make_srq(xrc.domain);
    xrc.post_to(empty, {.work = Work::send, .length = 3000}, xrc.first.initiator);
    xrc.pair.run(base::Duration{100'000'000});
    EXPECT_GT(xrc.pair.server.counters().out_of_buffer, 0u);
    EXPECT_TRUE(xrc.pair.client.sends.empty());
    xrc.post_receive(empty, 7);
    xrc.pair.run();
    EXPECT_EQ(xrc.pair.client.completion().status, Status::success);
    EXPECT_EQ(xrc.pair.server.receive_completion().id, 7u);
}

TEST(Xrc, the_loss_of_any_one_packet_is_repaired) {
    for (const Work work : {Work::send, Work::write, Work::read, Work::fetch_add}) {
        for (uint64_t lost = 1; lost <= 6; ++lost) {
            Xrc xrc;
            xrc.pair.wire.drop_nth(lost);
            const uint32_t length = work == Work::fetch_add ? 8 : 3000;
            xrc.post({.work = work, .length = length, .remote_offset = 0x8000});
            xrc.post({.work = Work::send, .length = 10});
            xrc.pair.run();
            EXPECT_EQ(xrc.pair.client.completion().status, Status::success) << lost;
            EXPECT_EQ(xrc.pair.client.completion().status, Status::success) << lost;
            EXPECT_EQ(xrc.pair.server.receives.size(), work == Work::send ? 2u : 1u);
        }
    }
}

TEST(Xrc, silence_ends_the_initiator_as_it_ends_a_reliable_connection) {
    Xrc xrc;
    xrc.pair.wire.drop_if([](const Packet&) { return true; });
    xrc.post({.work = Work::send, .length = 10});
    xrc.pair.run();
    EXPECT_EQ(xrc.pair.client.completion().status, Status::retry_exceeded);
    EXPECT_EQ(xrc.pair.client.adapter.query_qp(xrc.first.initiator)->state, QpState::error);
}

TEST(Xrc, two_initiators_send_to_one_queue_and_the_completions_tell_them_apart) {
    Xrc xrc;
    const Connection second = xrc.connect(xrc.domain, xrc.pair.server.pd);
    xrc.post({.work = Work::send, .length = 4000});
    xrc.post_to(xrc.srq, {.work = Work::send, .length = 5000}, second.initiator);
    xrc.pair.run();
    std::vector<Completion> received = {xrc.pair.server.receive_completion(),
                                        xrc.pair.server.receive_completion()};
    for (const Completion& completion : received) {
        EXPECT_EQ(completion.status, Status::success);
        EXPECT_EQ(completion.byte_count, completion.qpn == second.target ? 5000u : 4000u);
    }
    EXPECT_NE(received[0].qpn, received[1].qpn);
    EXPECT_NE(received[0].id, received[1].id);
}

// The first packet of a SEND of three has arrived, the others have not.
void send_first_packet_only(Xrc& xrc) {
    xrc.pair.wire.drop_if([](const Packet& packet) {
        const auto operation = wire::operation_of(static_cast<uint8_t>(packet.opcode));
        return operation == Operation::send_middle || operation == Operation::send_last;
    });
    xrc.post({.work = Work::send, .length = 3000});
    xrc.pair.run(base::Duration{10'000'000});
    xrc.pair.wire.drop_if({});
}

TEST(Xrc, a_message_keeps_its_queue_to_the_end) {
    Xrc xrc;
    const SrqId other = xrc.make_srq(xrc.domain);
    xrc.post_receive(other, 40);
    send_first_packet_only(xrc);
    Packet stray = xrc.pair.wire.log[1].packet;
    stray.srq_or_ee = other.value;
    xrc.pair.inject(stray, xrc.pair.server.endpoint);
    xrc.pair.run();
    EXPECT_EQ(xrc.pair.client.completion().status, Status::remote_invalid_request);
    const Completion flushed = xrc.pair.server.receive_completion();
    EXPECT_EQ(flushed.id, 0u);
    EXPECT_EQ(flushed.status, Status::flushed);
}

TEST(Xrc, a_queue_destroyed_amid_a_message_fails_the_message) {
    Xrc xrc;
    send_first_packet_only(xrc);
    EXPECT_EQ(xrc.pair.server.adapter.destroy_srq(xrc.srq), Refusal::none);
    xrc.pair.run();
    EXPECT_EQ(xrc.pair.client.completion().status, Status::remote_invalid_request);
    EXPECT_TRUE(xrc.pair.server.receives.empty());
}

TEST(Xrc, a_target_destroyed_amid_a_message_gives_its_receive_back) {
    Xrc xrc;
    const Connection second = xrc.connect(xrc.domain, xrc.pair.server.pd);
    send_first_packet_only(xrc);
    EXPECT_EQ(xrc.pair.server.adapter.destroy_qp(xrc.first.target), Refusal::none);
    xrc.post_to(xrc.srq, {.work = Work::send, .length = 10}, second.initiator);
    xrc.pair.run();
    EXPECT_EQ(xrc.pair.server.receive_completion().id, 0u);
}

TEST(Xrc, the_limit_event_names_the_queue) {
    Xrc xrc;
    xrc.pair.server.events();
    EXPECT_EQ(xrc.pair.server.adapter.set_srq_limit(xrc.srq, 8), Refusal::none);
    xrc.post({.work = Work::send, .length = 10});
    xrc.pair.run();
    std::vector<AdapterEvent> events;
    while (const auto event = xrc.pair.server.adapter.poll_event())
        if (event->kind == EventKind::srq_limit_reached) events.push_back(*event);
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].subject, xrc.srq.value);
}

TEST(Xrc, receives_are_of_the_queues_protection_domain_and_rdma_is_of_the_targets) {
    Xrc xrc;
    Memory& memory = xrc.pair.server.adapter.memory();
    const Connection other = xrc.connect(xrc.domain, memory.create_pd());
    xrc.post_to(xrc.srq, {.work = Work::send, .length = 100}, other.initiator);
    xrc.pair.run();
    EXPECT_EQ(xrc.pair.client.completion().status, Status::success);
    xrc.post_to(xrc.srq, {.work = Work::write, .length = 100}, other.initiator);
    xrc.pair.run();
    EXPECT_EQ(xrc.pair.client.completion().status, Status::remote_access_error);
}

TEST(Xrc, a_target_without_a_protection_domain_uses_that_of_the_queue_named) {
    Xrc xrc;
    Host& server = xrc.pair.server;
    const Connection shared = xrc.connect(xrc.domain, PdId{});
    xrc.post_to(xrc.srq, {.work = Work::write, .length = 100}, shared.initiator);
    xrc.post_to(xrc.srq, {.work = Work::read, .length = 100}, shared.initiator);
    xrc.pair.run();
    EXPECT_EQ(xrc.pair.client.completion().status, Status::success);
    EXPECT_EQ(xrc.pair.client.completion().status, Status::success);
    const PdId elsewhere = server.adapter.memory().create_pd();
    const SrqId other =
        *server.adapter.create_xrc_srq(xrc.domain, elsewhere, server.receive_cq, 4, 1);
    xrc.post_to(other, {.work = Work::write, .length = 100}, shared.initiator);
    xrc.pair.run();
    EXPECT_EQ(xrc.pair.client.completion().status, Status::remote_access_error);
}

TEST(Xrc, a_send_that_is_too_long_fails_at_both_ends) {
    Xrc xrc;
    const SrqId small = xrc.make_srq(xrc.domain);
    xrc.post_receive(small, 3, 100);
    EXPECT_NE(status_of_send_to(xrc, small, {.work = Work::send, .length = 200}), Status::success);
    const Completion received = xrc.pair.server.receive_completion();
    EXPECT_EQ(received.status, Status::local_length_error);
    EXPECT_EQ(received.qpn, xrc.first.target);
}

TEST(Xrc, memory_that_goes_amid_a_read_is_told) {
    Xrc xrc;
    Packet packet;
    xrc.post({.work = Work::read, .length = 3000});
    Adapter& server = xrc.pair.server.adapter;
    ASSERT_TRUE(xrc.pair.client.adapter.poll_transmit(xrc.pair.now, Lanes::open(), packet));
    server.on_packet(xrc.pair.now, packet);
    EXPECT_EQ(server.memory().deregister_region(xrc.pair.server.key), Refusal::none);
    xrc.pair.run();
    EXPECT_EQ(xrc.pair.client.completion().status, Status::remote_access_error);
}

TEST(Xrc, no_credits_are_granted) {
    Xrc xrc;
    xrc.post({.work = Work::send, .length = 10});
    xrc.pair.run();
    EXPECT_EQ(wire::ack_code(xrc.pair.wire.log[1].packet.extended.ack.syndrome), wire::kNoCredits);
}

TEST(Xrc, a_domain_stays_while_queues_or_targets_are_in_it) {
    Xrc xrc;
    Adapter& adapter = xrc.pair.server.adapter;
    EXPECT_EQ(adapter.destroy_xrc_domain(xrc.domain), Refusal::busy);
    EXPECT_EQ(adapter.destroy_srq(xrc.srq), Refusal::none);
    EXPECT_EQ(adapter.destroy_xrc_domain(xrc.domain), Refusal::busy);
    EXPECT_EQ(adapter.destroy_qp(xrc.first.target), Refusal::none);
    EXPECT_EQ(adapter.destroy_xrc_domain(xrc.domain), Refusal::none);
    EXPECT_EQ(adapter.destroy_xrc_domain(xrc.domain), Refusal::invalid_argument);
}

TEST(Xrc, a_completion_queue_stays_while_a_queue_completes_there) {
    Xrc xrc;
    Adapter& adapter = xrc.pair.server.adapter;
    const CqId cq = adapter.create_cq(4);
    const SrqId srq = *adapter.create_xrc_srq(xrc.domain, xrc.pair.server.pd, cq, 4, 1);
    EXPECT_EQ(adapter.destroy_cq(cq), Refusal::busy);
    EXPECT_EQ(adapter.destroy_srq(srq), Refusal::none);
    EXPECT_EQ(adapter.destroy_cq(cq), Refusal::none);
}

TEST(Xrc, what_has_no_place_in_a_domain_is_refused) {
    Xrc xrc;
    Host& server = xrc.pair.server;
    Adapter& adapter = server.adapter;
    EXPECT_FALSE(adapter.create_xrc_srq(XrcDomainId{9}, server.pd, server.receive_cq, 4, 1));
    EXPECT_FALSE(adapter.create_xrc_srq(xrc.domain, server.pd, CqId{99}, 4, 1));
    EXPECT_FALSE(adapter.create_qp({.type = QpType::xrc_target, .pd = server.pd}));
    EXPECT_FALSE(adapter.create_qp({.type = QpType::rc,
                                    .pd = server.pd,
                                    .send_cq = server.send_cq,
                                    .receive_cq = server.receive_cq,
                                    .srq = xrc.srq}));
}

TEST(Xrc, a_target_does_not_send_and_an_initiator_does_not_receive) {
    Xrc xrc;
    EXPECT_EQ(xrc.pair.server.adapter.post_send(xrc.first.target, {}), Refusal::invalid_argument);
    EXPECT_EQ(xrc.pair.client.adapter.post_receive(xrc.first.initiator, {}),
              Refusal::invalid_argument);
    xrc.post({.work = Work::send, .length = 10});
    xrc.pair.run();
    Packet stray = xrc.pair.wire.log[0].packet;
    stray.source = xrc.pair.server.endpoint.value;
    stray.set_dest_qp(xrc.first.initiator);
    xrc.pair.inject(stray, xrc.pair.client.endpoint);
    xrc.pair.run();
    EXPECT_EQ(xrc.pair.client.counters().dropped_silently, 1u);
    EXPECT_EQ(xrc.pair.wire.log.size(), 2u);
}

}  // namespace
}  // namespace tulle::transport
