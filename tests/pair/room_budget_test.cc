// Queue pairs together ask for no more, and send no more at a time, than there is room for.
#include <gtest/gtest.h>

#include <algorithm>

#include "pair.h"

namespace tulle::transport {
namespace {

using namespace base::literals;
using wire::Operation;

constexpr uint32_t kPackets = 8;  // of each READ

// A second connection between the two: its queue pair at the client.
Qpn connect_more(Pair& pair) {
    const Qpn client = pair.client.qpn;
    const Qpn server = pair.server.qpn;
    pair.client.qpn = pair.client.create_qp();
    pair.server.qpn = pair.server.create_qp();
    pair.client.connect(pair.server, Psn{7}, Psn{9});
    pair.server.connect(pair.client, Psn{9}, Psn{7});
    pair.server.peer_qpn = client;
    pair.server.qpn = server;
    return std::exchange(pair.client.qpn, client);
}

void post_read(Pair& pair, Qpn from, uint64_t id, uint32_t packets = kPackets) {
    const auto refusal = pair.client.post(
        {.work = Work::read, .length = packets * pair.client.options.mtu, .id = id, .from = from});
    EXPECT_EQ(refusal, Refusal::none);
}

PairOptions room_for(uint32_t packets) {
    return {.max_reads = 16, .max_incoming_reads = 16, .room_packets = packets};
}

TEST(RoomBudget, queue_pairs_together_ask_for_no_more_than_there_is_room_for) {
    for (const LossPolicy loss : {LossPolicy::go_back_n, LossPolicy::selective_repeat}) {
        PairOptions options = room_for(2 * kPackets);
        options.loss = loss;
        Pair pair(options);
        const std::vector<Qpn> qpns = {pair.client.qpn, connect_more(pair), connect_more(pair)};
        uint32_t asked = 0;
        uint32_t came = 0;
        uint32_t most = 0;
        pair.wire.drop_if([&](const Packet& packet) {
            const bool is_request =
                wire::operation_of(static_cast<uint8_t>(packet.opcode)) == Operation::read_request;
            if (is_request) asked += packet.extended.rdma.dma_length / options.mtu;
            most = std::max(most, asked - came);
            return false;
        });
        pair.wire.change([&](const Packet& packet) { came += packet.payload_length != 0 ? 1 : 0; });
        for (uint64_t id = 0; id < 10; ++id)
            for (const Qpn qpn : qpns) post_read(pair, qpn, id);
        pair.run();
        EXPECT_EQ(most, 2 * kPackets);
        EXPECT_EQ(pair.client.sends.size(), 30u);
        while (!pair.client.sends.empty())
            EXPECT_EQ(pair.client.completion().status, Status::success);
    }
}

TEST(RoomBudget, a_read_for_more_than_all_the_room_goes_alone) {
    Pair pair(room_for(kPackets));
    post_read(pair, pair.client.qpn, 1, 5 * kPackets);
    post_read(pair, pair.client.qpn, 2, 5 * kPackets);
    pair.run(500_ns);
    EXPECT_EQ(pair.wire.count(Operation::read_request), 1u);
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.client.completion().status, Status::success);
}

TEST(RoomBudget, who_asks_for_little_is_served_among_those_who_ask_for_much) {
    Pair pair(room_for(2 * kPackets));
    const Qpn other = connect_more(pair);
    for (uint64_t id = 0; id < 16; ++id) post_read(pair, pair.client.qpn, id);
    pair.run(500_ns);
    post_read(pair, other, 100);
    pair.run();
    uint32_t before = 0;
    while (pair.client.completion().id != 100) ++before;
    EXPECT_LE(before, 3u);
}

TEST(RoomBudget, a_peer_that_does_not_answer_holds_up_its_own_queue_pair_only) {
    PairOptions options = room_for(kPackets);
    options.ack_timeout = 31;
    Pair pair(options);
    const Qpn other = connect_more(pair);
    const Qpn silent = pair.client.qpn;
    pair.wire.drop_if([&](const Packet& packet) { return packet.dest_qp() == silent; });
    post_read(pair, silent, 1);
    pair.run(1_us);
    for (uint64_t id = 2; id < 12; ++id) post_read(pair, other, id);
    pair.run(50_ms);
    EXPECT_EQ(pair.client.sends.size(), 10u);
}

TEST(RoomBudget, what_is_flushed_or_destroyed_gives_its_room_back) {
    for (const bool is_destroyed : {false, true}) {
        Pair pair(room_for(kPackets));
        const Qpn other = connect_more(pair);
        const Qpn third = connect_more(pair);
        post_read(pair, pair.client.qpn, 1);
        pair.run(500_ns);
        post_read(pair, other, 2);  // waits in line
        post_read(pair, third, 3);
        for (const Qpn qpn : {pair.client.qpn, other}) {
            QpAttributes attributes;
            attributes.state = QpState::error;
            if (is_destroyed)
                EXPECT_EQ(pair.client.adapter.queue_pairs().destroy(qpn), Refusal::none);
            else
                EXPECT_EQ(pair.client.adapter.queue_pairs().modify(qpn, attributes, kState),
                          Refusal::none);
        }
        pair.run(5_us);
        ASSERT_FALSE(pair.client.sends.empty());
        EXPECT_EQ(pair.client.sends.back().id, 3u);
        EXPECT_EQ(pair.client.sends.back().status, Status::success);
    }
}

void post_write(Pair& pair, Qpn from, uint64_t id, uint32_t packets = kPackets) {
    const auto refusal = pair.client.post(
        {.work = Work::write, .length = packets * pair.client.options.mtu, .id = id, .from = from});
    EXPECT_EQ(refusal, Refusal::none);
}

// The most packets of these queue pairs that were sent and not acknowledged, seen while all that is
// posted is done.
uint32_t most_under_way(Pair& pair, const std::vector<Qpn>& qpns) {
    uint32_t most = 0;
    pair.wire.drop_if([&](const Packet&) {
        uint32_t under_way = 0;
        for (const Qpn qpn : qpns) {
            const RequesterState& r = pair.client.adapter.queue_pairs().find(qpn)->requester;
            under_way += wire::psn_distance(r.unacknowledged, r.sent_end);
        }
        most = std::max(most, under_way);
        return false;
    });
    pair.run();
    return most;
}

TEST(RoomBudget, what_queue_pairs_send_fits_into_the_room_of_their_peer) {
    for (const LossPolicy loss : {LossPolicy::go_back_n, LossPolicy::selective_repeat}) {
        PairOptions options = room_for(2 * kPackets);
        options.loss = loss;
        Pair pair(options);
        std::vector<Qpn> qpns = {pair.client.qpn};
        while (qpns.size() < 12) qpns.push_back(connect_more(pair));
        for (uint64_t id = 0; id < 10; ++id)
            for (const Qpn qpn : qpns) post_write(pair, qpn, id);
        // The room, and a message of each of a few.
        EXPECT_LE(most_under_way(pair, qpns), 2 * kPackets + 4 * kPackets);
        EXPECT_EQ(pair.client.sends.size(), 120u);
        while (!pair.client.sends.empty())
            EXPECT_EQ(pair.client.completion().status, Status::success);
    }
}

TEST(RoomBudget, who_sends_little_does_not_wait_for_one_long_message) {
    PairOptions options = room_for(kPackets);
    options.max_packets_outstanding = kPackets;
    Pair pair(options);
    const Qpn other = connect_more(pair);
    post_write(pair, pair.client.qpn, 1, 20 * kPackets);
    pair.run(300_ns);
    post_write(pair, other, 2, 1);
    pair.run();
    EXPECT_EQ(pair.client.completion().id, 2u);
    EXPECT_EQ(pair.client.completion().id, 1u);
}

TEST(RoomBudget, who_sends_alone_has_a_full_window) {
    PairOptions options = room_for(kPackets);
    options.max_packets_outstanding = kPackets;
    Pair pair(options);
    for (uint64_t id = 0; id < 10; ++id) post_write(pair, pair.client.qpn, id, 3);
    EXPECT_EQ(most_under_way(pair, {pair.client.qpn}), kPackets);
    EXPECT_EQ(pair.client.sends.size(), 10u);
}

TEST(RoomBudget, who_sends_to_one_that_is_silent_holds_up_nobody_else) {
    PairOptions options = room_for(kPackets);
    options.ack_timeout = 31;
    Pair pair(options);
    const Qpn other = connect_more(pair);
    const Qpn silent = pair.client.qpn;
    pair.wire.drop_if([&](const Packet& packet) { return packet.dest_qp() == silent; });
    post_write(pair, silent, 1);
    pair.run(1_us);
    for (uint64_t id = 2; id < 12; ++id) post_write(pair, other, id);
    pair.run(50_ms);
    EXPECT_EQ(pair.client.sends.size(), 10u);
}

TEST(RoomBudget, a_queue_pair_that_fails_gives_its_room_back) {
    Pair pair(room_for(kPackets));
    const Qpn other = connect_more(pair);
    post_write(pair, pair.client.qpn, 1);
    pair.run(500_ns);
    post_write(pair, other, 2);
    QpAttributes attributes;
    attributes.state = QpState::error;
    EXPECT_EQ(pair.client.adapter.queue_pairs().modify(pair.client.qpn, attributes, kState),
              Refusal::none);
    pair.run(5_us);
    ASSERT_FALSE(pair.client.sends.empty());
    EXPECT_EQ(pair.client.sends.back().id, 2u);
    EXPECT_EQ(pair.client.sends.back().status, Status::success);
}

TEST(RoomBudget, data_that_comes_before_its_turn_is_an_answer_and_starts_the_retries_again) {
    Pair pair({.loss = LossPolicy::selective_repeat,
               .retry_count = 2,
               .max_reads = 8,
               .max_incoming_reads = 8});
    const Instant end = pair.now + 400_ms;
    pair.wire.drop_if([&](const Packet& packet) {
        return packet.psn() == Psn{0x10'0000} && packet.payload_length != 0 && pair.now < end;
    });
    for (uint64_t n = 2; n <= 8; ++n)
        pair.wire.delay(Operation::read_response_only, n, 60_ms * static_cast<int64_t>(n));
    for (uint64_t id = 1; id <= 8; ++id) post_read(pair, pair.client.qpn, id, 1);
    pair.run();
    EXPECT_EQ(pair.client.sends.size(), 8u);
    for (const Completion& completion : pair.client.sends)
        EXPECT_EQ(completion.status, Status::success);
}

}  // namespace
}  // namespace tulle::transport
