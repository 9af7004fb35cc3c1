#include "decode/qp_follower.h"

#include <gtest/gtest.h>

#include "wire/syndrome.h"

namespace tulle::decode {
namespace {

using wire::Operation;
using wire::Service;

constexpr uint32_t kServerQp = 0x11;
constexpr uint32_t kClientQp = 0x22;

// A conversation: the client sends requests to the server's queue pair 0x11, the server sends
// answers to the client's queue pair 0x22.
class Conversation {
public:
    explicit Conversation(QpFollower::Limits limits = {}, Service service = Service::rc)
        : follower_(limits), service_(service) {}

    Noticed request(Operation operation, uint32_t psn, size_t payload = 0, wire::Reth reth = {}) {
        wire::Frame frame = make(true, operation, psn, payload);
        frame.transport.reth = reth;
        return see(frame);
    }
    Noticed request_with_immediate(Operation operation, uint32_t psn, size_t payload,
                                   uint32_t immediate) {
        wire::Frame frame = make(true, operation, psn, payload);
        frame.transport.imm_dt.immediate.value = immediate;
        return see(frame);
    }
    Noticed read(uint32_t psn, uint32_t length) {
        return request(Operation::read_request, psn, 0, {{0x1000}, {0x77}, length});
    }
    Noticed atomic(Operation operation, uint32_t psn, uint64_t swap_or_add, uint64_t compare = 0) {
        wire::Frame frame = make(true, operation, psn, 0);
        frame.transport.atomic_eth = {{0x8000}, {0x77}, {swap_or_add}, {compare}};
        return see(frame);
    }
    Noticed ack(uint32_t psn) { return answer(psn, wire::syndrome_of(wire::AckKind::ack, 31)); }
    Noticed nak(uint32_t psn, wire::NakCode code) { return answer(psn, wire::syndrome_of(code)); }
    Noticed rnr_nak(uint32_t psn) {
        return answer(psn, wire::syndrome_of(wire::AckKind::rnr_nak, 12));
    }
    Noticed response(Operation operation, uint32_t psn, size_t payload) {
        wire::Frame frame = make(false, operation, psn, payload);
        frame.transport.aeth.syndrome.value = wire::syndrome_of(wire::AckKind::ack, 31);
        return see(frame);
    }
    Noticed atomic_ack(uint32_t psn, uint64_t original) {
        wire::Frame frame = make(false, Operation::atomic_acknowledge, psn, 0);
        frame.transport.aeth.syndrome.value = wire::syndrome_of(wire::AckKind::ack, 31);
        frame.transport.atomic_ack_eth.original.value = original;
        return see(frame);
    }

    void use_queue_pairs(uint32_t server, uint32_t client) {
        server_qp_ = server;
        client_qp_ = client;
    }
    QpFollower& follower() { return follower_; }

private:
    wire::Frame make(bool from_client, Operation operation, uint32_t psn, size_t payload) {
        wire::Frame frame;
        frame.kind = wire::FrameKind::transport;
        frame.network = wire::NetworkHeader::ipv4;
        frame.ipv4.source.bytes = {10, 0, 0, static_cast<uint8_t>(from_client ? 1 : 2)};
        frame.ipv4.destination.bytes = {10, 0, 0, static_cast<uint8_t>(from_client ? 2 : 1)};
        frame.transport.bth.opcode.value = wire::opcode_of(service_, operation);
        frame.transport.bth.dest_qp.value = from_client ? server_qp_ : client_qp_;
        frame.transport.bth.psn.value = psn & wire::kPsnMask;
        frame.payload = wire::Bytes(bytes_).first(payload);
        return frame;
    }
    Noticed answer(uint32_t psn, uint8_t syndrome) {
        wire::Frame frame = make(false, Operation::acknowledge, psn, 0);
        frame.transport.aeth.syndrome.value = syndrome;
        return see(frame);
    }
    Noticed see(const wire::Frame& frame) {
        ++packet_;
        return follower_.follow(frame, {packet_, static_cast<int64_t>(packet_) * 1000});
    }

    QpFollower follower_;
    Service service_;
    uint32_t server_qp_ = kServerQp;
    uint32_t client_qp_ = kClientQp;
    uint64_t packet_ = 0;
    std::array<std::byte, 4096> bytes_{};
};

TEST(QpFollower, a_send_of_three_packets_is_one_acknowledged_operation) {
    Conversation talk;
    talk.request(Operation::send_first, 100, 1024);
    talk.request(Operation::send_middle, 101, 1024);
    const Noticed last =
        talk.request_with_immediate(Operation::send_last_with_immediate, 102, 10, 0xcafe);
    EXPECT_EQ(last.message->first_packet, 1u);
    EXPECT_TRUE(last.completed.empty());
    const Noticed acknowledged = talk.ack(102);
    ASSERT_EQ(acknowledged.completed.size(), 1u);
    const auto& send = acknowledged.completed[0];
    EXPECT_EQ(send.kind, OperationKind::send);
    EXPECT_EQ(send.bytes, 2058u);
    EXPECT_EQ(send.packets, 3u);
    EXPECT_EQ(send.immediate, 0xcafeu);
    EXPECT_EQ(send.first_psn, wire::Psn{100});
    EXPECT_EQ(send.last_psn, wire::Psn{102});
    EXPECT_EQ(send.source_qp, wire::Qpn{kClientQp});
    EXPECT_EQ(send.begin.packet, 1u);
    EXPECT_EQ(send.end.packet, 4u);
    EXPECT_EQ(send.outcome, Outcome::acknowledged);
    EXPECT_TRUE(talk.follower().finish().empty());
}

TEST(QpFollower, one_acknowledgement_completes_all_that_came_before) {
    Conversation talk;
    for (uint32_t psn = 5; psn < 9; ++psn) talk.request(Operation::send_only, psn, 8);
    EXPECT_EQ(talk.ack(7).completed.size(), 3u);
    EXPECT_EQ(talk.follower().finish().size(), 1u);
}

TEST(QpFollower, sequence_numbers_wrap_around_at_24_bits) {
    Conversation talk;
    EXPECT_EQ(talk.request(Operation::write_first, 0xfffffe, 256, {{0x10}, {1}, 600}).psn_gap, 0u);
    EXPECT_EQ(talk.request(Operation::write_middle, 0xffffff, 256).psn_gap, 0u);
    EXPECT_EQ(talk.request(Operation::write_last, 0, 88).psn_gap, 0u);
    const Noticed acknowledged = talk.ack(0);
    ASSERT_EQ(acknowledged.completed.size(), 1u);
    EXPECT_EQ(acknowledged.completed[0].bytes, 600u);
    EXPECT_EQ(acknowledged.completed[0].last_psn, wire::Psn{0});
    EXPECT_EQ(talk.request(Operation::send_only, 3, 1).psn_gap, 2u);
}

TEST(QpFollower, a_lost_packet_is_a_gap_and_what_follows_the_nak_is_sent_again) {
    Conversation talk;
    talk.request(Operation::send_first, 10, 1024);
    EXPECT_EQ(talk.request(Operation::send_last, 12, 5).psn_gap, 1u);  // 11 was lost
    EXPECT_TRUE(talk.nak(11, wire::NakCode::psn_sequence_error).completed.empty());
    const Noticed filled = talk.request(Operation::send_middle, 11, 1024);
    EXPECT_TRUE(filled.retransmission);
    EXPECT_FALSE(filled.out_of_order);
    EXPECT_TRUE(talk.request(Operation::send_last, 12, 5).retransmission);
    const Noticed acknowledged = talk.ack(12);
    ASSERT_EQ(acknowledged.completed.size(), 1u);
    EXPECT_EQ(acknowledged.completed[0].bytes, 2053u);
    EXPECT_EQ(acknowledged.completed[0].retransmitted_packets, 2u);
    EXPECT_TRUE(acknowledged.completed[0].whole);
}

TEST(QpFollower, a_packet_that_fills_a_gap_unasked_was_overtaken_on_its_way) {
    Conversation talk;
    talk.request(Operation::send_only, 10, 1);
    EXPECT_EQ(talk.request(Operation::send_only, 12, 1).psn_gap, 1u);
    const Noticed late = talk.request(Operation::send_only, 11, 1);
    EXPECT_TRUE(late.out_of_order);
    EXPECT_FALSE(late.retransmission);
    EXPECT_EQ(talk.ack(12).completed.size(), 3u);
}

TEST(QpFollower, a_gap_that_is_acknowledged_leaves_an_operation_that_is_not_whole) {
    Conversation talk;
    talk.request(Operation::send_first, 10, 1024);
    talk.request(Operation::send_last, 12, 5);
    const Noticed acknowledged = talk.ack(12);
    ASSERT_EQ(acknowledged.completed.size(), 1u);
    EXPECT_FALSE(acknowledged.completed[0].whole);
}

TEST(QpFollower, a_capture_that_starts_within_a_message_is_followed_from_there) {
    Conversation talk;
    EXPECT_EQ(talk.request(Operation::write_middle, 500, 1024).psn_gap, 0u);
    talk.request(Operation::write_last, 501, 1);
    const Noticed acknowledged = talk.ack(501);
    ASSERT_EQ(acknowledged.completed.size(), 1u);
    EXPECT_EQ(acknowledged.completed[0].kind, OperationKind::write);
    EXPECT_EQ(acknowledged.completed[0].bytes, 1025u);
    EXPECT_FALSE(acknowledged.completed[0].whole);
}

TEST(QpFollower, a_refused_write_says_why) {
    Conversation talk;
    talk.request(Operation::send_only, 1, 4);
    talk.request(Operation::write_first, 2, 1024, {{0x10}, {0xdead}, 2000});
    talk.request(Operation::write_last, 3, 976);
    const Noticed refused = talk.nak(2, wire::NakCode::remote_access_error);
    ASSERT_EQ(refused.completed.size(), 2u);
    EXPECT_EQ(refused.completed[0].outcome, Outcome::acknowledged);
    EXPECT_EQ(refused.completed[1].outcome, Outcome::nak);
    EXPECT_EQ(outcome_text(refused.completed[1]), "NAK: remote access error");
    EXPECT_EQ(refused.completed[1].bytes, 2000u);
    EXPECT_TRUE(talk.follower().finish().empty());
}

TEST(QpFollower, a_send_that_meets_no_receive_ends_with_the_rnr_nak) {
    Conversation talk;
    talk.request(Operation::send_only, 1, 4);
    talk.rnr_nak(1);
    EXPECT_TRUE(talk.request(Operation::send_only, 1, 4).retransmission);
    EXPECT_FALSE(talk.rnr_nak(1).retransmission);
    const auto open = talk.follower().finish();
    ASSERT_EQ(open.size(), 1u);
    EXPECT_EQ(open[0].outcome, Outcome::rnr_nak);
    EXPECT_EQ(open[0].rnr_naks, 2u);
}

TEST(QpFollower, a_read_takes_a_sequence_number_for_each_packet_of_its_response) {
    Conversation talk;
    talk.request(Operation::send_first, 8, 1024);  // shows the MTU
    talk.request(Operation::send_last, 9, 1);
    talk.read(10, 3000);
    EXPECT_EQ(talk.read(13, 8).psn_gap, 0u);
    talk.ack(9);
    talk.response(Operation::read_response_first, 10, 1024);
    talk.response(Operation::read_response_middle, 11, 1024);
    const Noticed last = talk.response(Operation::read_response_last, 12, 952);
    ASSERT_EQ(last.completed.size(), 1u);
    EXPECT_EQ(last.completed[0].bytes, 3000u);
    EXPECT_EQ(last.completed[0].packets, 3u);
    EXPECT_EQ(last.message->first_packet, 3u);
    EXPECT_EQ(talk.response(Operation::read_response_only, 13, 8).completed.size(), 1u);
}

TEST(QpFollower, while_the_mtu_is_unknown_any_is_accepted_behind_a_read) {
    for (const uint32_t mtu : {256u, 512u, 1024u, 2048u, 4096u}) {
        Conversation talk;
        talk.read(10, 10'000);
        const uint32_t packets = (10'000 + mtu - 1) / mtu;
        EXPECT_EQ(talk.request(Operation::send_only, 10 + packets, 1).psn_gap, 0u) << mtu;
    }
    Conversation talk;
    talk.read(10, 10'000);
    EXPECT_NE(talk.request(Operation::send_only, 10 + 11, 1).psn_gap, 0u);
}

TEST(QpFollower, a_read_whose_response_has_a_gap_waits_for_what_is_asked_for_again) {
    Conversation talk;
    talk.read(10, 4096);
    talk.response(Operation::read_response_first, 10, 1024);
    EXPECT_EQ(talk.response(Operation::read_response_middle, 12, 1024).psn_gap, 1u);
    const Noticed last = talk.response(Operation::read_response_last, 13, 1024);
    EXPECT_EQ(last.psn_gap, 0u);  // the same gap
    EXPECT_TRUE(last.completed.empty());
    EXPECT_TRUE(talk.read(11, 3072).retransmission);
    talk.response(Operation::read_response_first, 11, 1024);
    talk.response(Operation::read_response_middle, 12, 1024);
    const Noticed again = talk.response(Operation::read_response_last, 13, 1024);
    ASSERT_EQ(again.completed.size(), 1u);
    EXPECT_EQ(again.completed[0].bytes, 4096u);
    EXPECT_EQ(again.completed[0].retransmitted_packets, 1u);
    EXPECT_TRUE(talk.response(Operation::read_response_last, 13, 1024).retransmission);
}

TEST(QpFollower, a_read_response_acknowledges_the_writes_before_it) {
    Conversation talk;
    talk.request(Operation::write_only, 20, 100, {{0x10}, {1}, 100});
    talk.read(21, 100);
    EXPECT_EQ(talk.response(Operation::read_response_only, 21, 100).completed.size(), 2u);
}

TEST(QpFollower, an_atomic_brings_home_the_value_that_was_there) {
    Conversation talk;
    talk.atomic(Operation::compare_swap, 7, 2, 1);
    const Noticed done = talk.atomic_ack(7, 0x1122);
    ASSERT_EQ(done.completed.size(), 1u);
    EXPECT_EQ(done.completed[0].kind, OperationKind::compare_swap);
    EXPECT_EQ(done.completed[0].compare, 1u);
    EXPECT_EQ(done.completed[0].swap_or_add, 2u);
    EXPECT_EQ(done.completed[0].original, 0x1122u);
    EXPECT_TRUE(talk.atomic_ack(7, 0x1122).retransmission);
}

TEST(QpFollower, a_request_after_its_acknowledgement_is_sent_again_and_so_is_the_answer) {
    Conversation talk;
    talk.request(Operation::send_only, 7, 1);
    talk.ack(7);
    EXPECT_TRUE(talk.request(Operation::send_only, 7, 1).retransmission);
    EXPECT_TRUE(talk.ack(7).retransmission);
}

TEST(QpFollower, unreliable_messages_are_delivered_whole_or_dropped) {
    Conversation talk({}, Service::uc);
    talk.request(Operation::send_first, 1, 1024);
    const Noticed last = talk.request(Operation::send_last, 2, 1);
    ASSERT_EQ(last.completed.size(), 1u);
    EXPECT_EQ(last.completed[0].outcome, Outcome::delivered);
    talk.request(Operation::send_first, 3, 1024);
    const Noticed gap = talk.request(Operation::send_last, 5, 1);
    EXPECT_EQ(gap.psn_gap, 1u);
    ASSERT_EQ(gap.completed.size(), 1u);
    EXPECT_EQ(gap.completed[0].outcome, Outcome::dropped);
    EXPECT_EQ(talk.request(Operation::send_only, 6, 1).completed.size(), 1u);
}

TEST(QpFollower, datagrams_are_delivered_whatever_their_sequence_numbers) {
    Conversation talk({}, Service::ud);
    for (const uint32_t psn : {5u, 5u, 900u, 1u}) {
        const Noticed noticed = talk.request(Operation::send_only, psn, 64);
        ASSERT_EQ(noticed.completed.size(), 1u);
        EXPECT_EQ(noticed.psn_gap, 0u);
        EXPECT_FALSE(noticed.retransmission);
    }
}

TEST(QpFollower, answers_are_told_apart_by_the_sequence_numbers_they_answer) {
    Conversation talk;
    talk.request(Operation::send_only, 100, 1);
    talk.use_queue_pairs(0x12, 0x23);
    talk.request(Operation::send_only, 5000, 2);
    talk.use_queue_pairs(kServerQp, kClientQp);
    const Noticed first = talk.ack(100);
    ASSERT_EQ(first.completed.size(), 1u);
    EXPECT_EQ(first.completed[0].dest_qp, wire::Qpn{kServerQp});
    talk.use_queue_pairs(0x12, 0x23);
    const Noticed second = talk.ack(5000);
    ASSERT_EQ(second.completed.size(), 1u);
    EXPECT_EQ(second.completed[0].dest_qp, wire::Qpn{0x12});
    EXPECT_EQ(second.completed[0].source_qp, wire::Qpn{0x23});
}

TEST(QpFollower, a_queue_pair_that_is_connected_anew_starts_a_new_sequence) {
    Conversation talk;
    talk.request(Operation::send_only, 0x100000, 1);
    const Noticed anew = talk.request(Operation::send_only, 0x700000, 1);
    EXPECT_TRUE(anew.new_sequence);
    EXPECT_EQ(anew.psn_gap, 0u);
    ASSERT_EQ(anew.completed.size(), 1u);
    EXPECT_EQ(anew.completed[0].outcome, Outcome::unanswered);
    EXPECT_EQ(talk.ack(0x700000).completed.size(), 1u);
}

TEST(QpFollower, the_flow_used_least_recently_is_forgotten) {
    Conversation talk({.flows = 2, .pending_packets = 100});
    for (uint32_t qp = 1; qp <= 3; ++qp) {
        talk.use_queue_pairs(qp, qp);
        const Noticed noticed = talk.request(Operation::send_only, qp, 1);
        EXPECT_EQ(noticed.completed.size(), qp == 3 ? 1u : 0u);
    }
    EXPECT_EQ(talk.follower().finish().size(), 2u);
}

TEST(QpFollower, requests_that_nobody_answers_do_not_pile_up) {
    Conversation talk;
    uint64_t given_up = 0;
    const uint64_t sent = 3 * RequestFlow::kMostSent;
    for (uint32_t psn = 0; psn < sent; ++psn)
        given_up += talk.request(Operation::send_only, psn, 1).completed.size();
    EXPECT_EQ(given_up, sent - RequestFlow::kMostSent);
    EXPECT_EQ(talk.follower().finish().size(), RequestFlow::kMostSent);
}

}  // namespace
}  // namespace tulle::decode
