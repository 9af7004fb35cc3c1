// Unreliable datagrams: one packet each, to anyone, also to many.
#include <gtest/gtest.h>

#include "pair.h"

namespace tulle::transport {
namespace {

using wire::Operation;

constexpr uint32_t kGroup = 0x77;

TEST(Datagram, it_arrives_behind_forty_bytes_with_the_name_of_its_sender) {
    Pair pair({.type = QpType::ud});
    pair.client.post({.work = Work::send_with_immediate, .length = 1000, .immediate = 0xabcd});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    const Completion received = pair.server.receive_completion();
    EXPECT_EQ(received.byte_count, 1040u);
    EXPECT_EQ(received.source_qp, pair.client.qpn);
    EXPECT_EQ(received.source, pair.client.endpoint);
    EXPECT_EQ(received.immediate_or_rkey, 0xabcdu);
    EXPECT_EQ(received.flags, kWithImmediate);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, kReceiveArea + 40, 1000));
    EXPECT_EQ(pair.server.memory[kReceiveArea], Host::pattern(kReceiveArea, 2));
}

TEST(Datagram, the_global_route_header_lies_in_front_of_it) {
    Pair pair({.type = QpType::ud});
    const std::vector<std::byte> grh(40, std::byte{0x6e});
    Packet packet = pair.forged(pair.server, Operation::send_only, Psn{0}, 10);
    packet.extended.send = {QKey{0x1234}, Qpn{5}, 0};
    pair.server.adapter.on_packet(pair.now, packet, grh);
    pair.run();
    EXPECT_EQ(pair.server.receive_completion().flags, kHasGrh);
    EXPECT_EQ(pair.server.memory[kReceiveArea], std::byte{0x6e});
    EXPECT_EQ(pair.server.memory[kReceiveArea + 39], std::byte{0x6e});
}

TEST(Datagram, without_a_receive_it_is_dropped_and_counted) {
    Pair pair({.type = QpType::ud, .receives = 0});
    pair.client.post({.work = Work::send, .length = 8});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.server.counters().out_of_buffer, 1u);
    EXPECT_EQ(pair.wire.log.size(), 1u);
}

TEST(Datagram, a_receive_too_short_for_it_completes_with_a_length_error) {
    Pair pair({.type = QpType::ud, .receive_bytes = 47});
    pair.client.post({.work = Work::send, .length = 8});
    pair.run();
    EXPECT_EQ(pair.server.receive_completion().status, Status::local_length_error);
    EXPECT_EQ(pair.server.memory[kReceiveArea + 40], Host::pattern(kReceiveArea + 40, 2));
    EXPECT_EQ(pair.server.state(), QpState::error);
    EXPECT_EQ(pair.server.receive_completion().status, Status::flushed);
}

TEST(Datagram, more_than_one_packet_is_refused) {
    Pair pair({.type = QpType::ud});
    EXPECT_EQ(pair.client.post({.work = Work::send, .length = 4096}), Refusal::none);
    EXPECT_EQ(pair.client.post({.work = Work::send, .length = 4097}), Refusal::invalid_argument);
}

TEST(Datagram, only_sends_are_offered) {
    Pair pair({.type = QpType::ud});
    for (const Work work : {Work::write, Work::read, Work::fetch_add, Work::compare_swap,
                            Work::send_with_invalidate, Work::flush, Work::atomic_write})
        EXPECT_EQ(pair.client.post({.work = work, .length = 8}), Refusal::invalid_argument);
}

TEST(Datagram, its_bytes_may_come_from_several_pieces) {
    Pair pair({.type = QpType::ud});
    pair.client.post(
        {.work = Work::send, .sges = {pair.client.sge(0, 10), pair.client.sge(500, 20)}});
    pair.run();
    EXPECT_EQ(pair.server.receive_completion().byte_count, 70u);
    EXPECT_TRUE(same_bytes(pair.client, 500, pair.server, kReceiveArea + 50, 20));
}

TEST(Datagram, a_multicast_datagram_reaches_every_member_and_no_other) {
    Pair pair({.type = QpType::ud});
    Host& server = pair.server;
    std::vector<Qpn> members = {server.qpn};
    for (uint32_t i = 0; i < 3; ++i) {
        server.qpn = server.create_qp();
        server.connect(pair.client, {}, {});
        server.post_receive(kReceiveArea + 0x40000 + i * 4096, 4096, 100 + i);
        members.push_back(server.qpn);
    }
    for (size_t i = 0; i < 3; ++i)
        EXPECT_EQ(server.adapter.multicast().attach(members[i], {kGroup}), Refusal::none);
    EXPECT_EQ(server.adapter.multicast().attach(members[3], {kGroup + 1}), Refusal::none);

    Packet packet = pair.forged(server, Operation::send_only, Psn{0}, 10);
    packet.set_dest_qp(Qpn{0xff'ffff});
    packet.destination = kGroup;
    packet.extended.send = {QKey{0x1234}, Qpn{5}, 0};
    server.adapter.on_packet(pair.now, packet);
    pair.run();
    EXPECT_EQ(server.receives.size(), 3u);
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(server.receive_completion().qpn, members[i]);
}

TEST(Datagram, a_queue_pair_that_left_the_group_hears_nothing) {
    Pair pair({.type = QpType::ud});
    Adapter& adapter = pair.server.adapter;
    EXPECT_EQ(adapter.multicast().attach(pair.server.qpn, {kGroup}), Refusal::none);
    EXPECT_EQ(adapter.queue_pairs().destroy(pair.server.qpn), Refusal::busy);
    EXPECT_EQ(adapter.multicast().detach(pair.server.qpn, {kGroup}), Refusal::none);
    EXPECT_EQ(adapter.multicast().detach(pair.server.qpn, {kGroup}), Refusal::invalid_argument);
    pair.client.post(
        {.work = Work::send,
         .length = 8,
         .datagram = DatagramTarget{
             .endpoint = pair.server.endpoint, .qpn = Qpn{0xff'ffff}, .qkey = QKey{0x1234}}});
    pair.run();
    EXPECT_TRUE(pair.server.receives.empty());
}

TEST(Datagram, only_datagram_queue_pairs_join_groups) {
    Pair pair;
    EXPECT_EQ(pair.server.adapter.multicast().attach(pair.server.qpn, {kGroup}),
              Refusal::invalid_argument);
}

}  // namespace
}  // namespace tulle::transport
