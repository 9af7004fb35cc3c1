// Lanes: one that is closed holds up no other, those that are open take turns, and queue pairs
// within a lane too.
#include <gtest/gtest.h>

#include "pair.h"

namespace tulle::transport {
namespace {

using namespace base::literals;
using wire::Operation;

// Acknowledgements travel in lane 6, data in lane 0.
PairOptions answering_apart(Delivery delivery) {
    return {.loss = LossPolicy::selective_repeat,
            .delivery = delivery,
            .notifications = {.service_level = 6},
            .answers_apart = true};
}

// More queue pairs at the client, each with its own service level, to the one of the server.
std::vector<Qpn> add_levels(Pair& pair, const std::vector<uint8_t>& levels) {
    std::vector<Qpn> numbers;
    for (const uint8_t level : levels) {
        pair.client.options.service_level = level;
        pair.client.qpn = pair.client.create_qp();
        pair.client.connect(pair.server, {}, {});
        numbers.push_back(pair.client.qpn);
    }
    return numbers;
}

void post_to(Pair& pair, Qpn qpn, uint32_t length) {
    pair.client.qpn = qpn;
    ASSERT_EQ(pair.client.post({.work = Work::write, .length = length}), Refusal::none);
}

std::vector<uint8_t> levels_sent(Pair& pair, const Lanes& lanes, size_t at_most = 100) {
    std::vector<uint8_t> levels;
    Packet packet;
    while (levels.size() < at_most && pair.client.adapter.poll_transmit(pair.now, lanes, packet))
        levels.push_back(static_cast<uint8_t>(packet.service_level));
    return levels;
}

using Levels = std::vector<uint8_t>;

TEST(Lanes, a_closed_lane_never_holds_back_another) {
    Pair pair;
    const auto qps = add_levels(pair, {1, 2, 3});
    for (const Qpn qpn : qps) post_to(pair, qpn, 2048);
    Lanes lanes = Lanes::open();
    lanes.room_bytes[1] = 0;
    lanes.room_bytes[2] = 0;
    EXPECT_EQ(levels_sent(pair, lanes), (Levels{3, 3}));
    lanes.room_bytes[2] = UINT32_MAX;
    EXPECT_EQ(levels_sent(pair, lanes), (Levels{2, 2}));
    EXPECT_EQ(levels_sent(pair, Lanes::open()), (Levels{1, 1}));
}

TEST(Lanes, open_lanes_take_turns) {
    Pair pair;
    const auto qps = add_levels(pair, {0, 5, 9});
    for (const Qpn qpn : qps) post_to(pair, qpn, 3 * 1024);
    EXPECT_EQ(levels_sent(pair, Lanes::open()), (Levels{0, 5, 9, 0, 5, 9, 0, 5, 9}));
}

std::vector<uint8_t> levels_of(const Pair& pair, Operation operation) {
    std::vector<uint8_t> levels;
    for (const Sent& sent : pair.wire.log)
        if (sent.operation() == operation)
            levels.push_back(static_cast<uint8_t>(sent.packet.service_level));
    return levels;
}

// Ultra Ethernet's ROD. An acknowledgement that overtook the data of a READ would report it lost.
TEST(Lanes, acknowledgements_travel_apart_until_there_is_a_read_to_overtake) {
    for (const bool apart : {false, true}) {
        Pair pair({.notifications = {.service_level = 6}, .answers_apart = apart});
        const uint8_t level = apart ? 6 : 0;
        pair.client.post({.work = Work::write, .length = 100});
        pair.run();
        EXPECT_EQ(levels_of(pair, Operation::acknowledge), (Levels{level}));
        pair.client.post({.work = Work::read, .length = 100});
        pair.client.post({.work = Work::write, .length = 100});
        pair.run();
        EXPECT_EQ(levels_of(pair, Operation::acknowledge), (Levels{level, 0}));
        EXPECT_EQ(levels_of(pair, Operation::read_response_only), (Levels{0}));
        EXPECT_EQ(levels_of(pair, Operation::write_only), (Levels{0, 0}));
    }
}

// The acknowledgement has been made ready for the other lane when the READ comes.
TEST(Lanes, an_acknowledgement_that_waits_goes_behind_the_read_that_came_since) {
    Pair pair({.notifications = {.service_level = 6}, .answers_apart = true});
    pair.server.lanes.room_bytes[0] = pair.server.lanes.room_bytes[6] = 0;
    pair.client.post({.work = Work::write, .length = 100});
    pair.client.post({.work = Work::read, .length = 100});
    pair.run(10_us);
    pair.server.lanes = Lanes::open();
    pair.server.lanes.room_bytes[6] = 0;
    pair.run(10_us);
    EXPECT_EQ(levels_of(pair, Operation::read_response_only), (Levels{0}));
    EXPECT_EQ(levels_of(pair, Operation::acknowledge), (Levels{0}));
    EXPECT_EQ(pair.client.completions_waiting(), 2u);
}

// Where packets may overtake one another, acknowledgements of a READ's queue pair travel apart too.
// The data goes in the turn of its own lane, and the acknowledgement behind it waits for the other.
TEST(Lanes, an_acknowledgement_behind_the_data_of_a_read_needs_room_in_its_own_lane) {
    Pair pair(answering_apart(Delivery::placed));
    pair.server.lanes.room_bytes[0] = pair.server.lanes.room_bytes[6] = 0;
    pair.client.post({.work = Work::read, .length = 100});
    pair.client.post({.work = Work::write, .length = 100});
    pair.run(10_us);
    pair.server.lanes.room_bytes[0] = UINT32_MAX;
    pair.run(10_us);
    EXPECT_EQ(levels_of(pair, Operation::read_response_only), (Levels{0}));
    EXPECT_EQ(levels_of(pair, Operation::acknowledge), (Levels{}));
    pair.server.lanes = Lanes::open();
    pair.run();
    EXPECT_EQ(levels_of(pair, Operation::acknowledge), (Levels{6}));
    EXPECT_EQ(pair.client.completions_waiting(), 2u);
}

TEST(Lanes, an_answer_without_data_needs_room_in_the_lane_of_acknowledgements) {
    Pair pair(answering_apart(Delivery::placed));
    pair.server.lanes.room_bytes[6] = 0;
    pair.client.post({.work = Work::read, .length = 0});
    pair.run(10_us);
    EXPECT_EQ(pair.wire.count_to(pair.client.endpoint), 0u);
    pair.server.lanes = Lanes::open();
    pair.run();
    EXPECT_EQ(levels_of(pair, Operation::read_response_only), (Levels{6}));
}

// The memory of a READ goes while its data waits: the NAK takes the place of the data.
TEST(Lanes, a_refusal_instead_of_the_data_of_a_read_needs_no_room_in_another_lane) {
    for (const auto delivery : {Delivery::ordered, Delivery::placed}) {
        PairOptions options = answering_apart(delivery);
        options.notifications.traffic_class = 48 << 2;
        Pair pair(options);
        pair.server.lanes.room_bytes[0] = pair.server.lanes.room_bytes[6] = 0;
        pair.client.post({.work = Work::read, .length = 100});
        pair.run(10_us);
        ASSERT_EQ(pair.server.adapter.memory().deregister_region(pair.server.key), Refusal::none);
        pair.server.lanes.room_bytes[0] = UINT32_MAX;
        pair.run(10_us);
        EXPECT_EQ(levels_of(pair, Operation::acknowledge), (Levels{0}));
        EXPECT_EQ(pair.wire.find(Operation::acknowledge).packet.traffic_class, 0u);
        EXPECT_EQ(pair.client.completion().status, Status::remote_access_error);
    }
}

TEST(Lanes, queue_pairs_of_one_lane_take_turns) {
    Pair pair;
    const auto qps = add_levels(pair, {4, 4, 4});
    for (const Qpn qpn : qps) post_to(pair, qpn, 2 * 1024);
    std::vector<Psn> psns;
    Packet packet;
    while (pair.client.adapter.poll_transmit(pair.now, Lanes::open(), packet))
        psns.push_back(packet.psn());
    const std::vector<Psn> turns = {Psn{0}, Psn{0}, Psn{0}, Psn{1}, Psn{1}, Psn{1}};
    EXPECT_EQ(psns, turns);
}

TEST(Lanes, a_packet_goes_only_where_it_fits_whole) {
    Pair pair;
    pair.client.post({.work = Work::write, .length = 1024});
    // 46 bytes around it, BTH of 12, RETH of 16.
    Lanes lanes;
    lanes.room_bytes[0] = 46 + 12 + 16 + 1023;
    EXPECT_TRUE(levels_sent(pair, lanes).empty());
    lanes.room_bytes[0] = 46 + 12 + 16 + 1024;
    EXPECT_EQ(levels_sent(pair, lanes).size(), 1u);
}

TEST(Lanes, answers_keep_to_the_lane_of_their_queue_pair) {
    Pair pair({.service_level = 6});
    pair.server.lanes.room_bytes[6] = 0;
    pair.client.post({.work = Work::read, .length = 100});
    pair.run(10_us);
    EXPECT_EQ(pair.wire.count_to(pair.client.endpoint), 0u);
    pair.server.lanes = Lanes::open();
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.wire.find(Operation::read_response_only).packet.service_level, 6u);
}

TEST(Lanes, datagrams_of_different_levels_keep_to_their_lanes_and_to_their_order) {
    Pair pair({.type = QpType::ud});
    for (const uint8_t level : {uint8_t{1}, uint8_t{2}, uint8_t{1}})
        pair.client.post({.work = Work::send,
                          .length = 8,
                          .datagram = DatagramTarget{.endpoint = pair.server.endpoint,
                                                     .qpn = pair.server.qpn,
                                                     .qkey = QKey{0x1234},
                                                     .service_level = level}});
    Lanes lanes = Lanes::open();
    lanes.room_bytes[2] = 0;
    EXPECT_EQ(levels_sent(pair, lanes), (Levels{1}));
    EXPECT_EQ(levels_sent(pair, Lanes::open()), (Levels{2, 1}));
}

TEST(Lanes, a_queue_pair_that_waits_in_a_closed_lane_can_be_destroyed) {
    Pair pair;
    const auto qps = add_levels(pair, {1, 1, 1});
    for (const Qpn qpn : qps) post_to(pair, qpn, 10);
    EXPECT_TRUE(levels_sent(pair, Lanes{}).empty());
    EXPECT_EQ(pair.client.adapter.queue_pairs().destroy(qps[1]), Refusal::none);
    EXPECT_EQ(levels_sent(pair, Lanes::open()).size(), 2u);
}

TEST(Lanes, a_queue_pair_may_change_its_level_and_be_destroyed_while_it_waits) {
    Pair pair;
    const auto qps = add_levels(pair, {1, 1});
    for (const Qpn qpn : qps) post_to(pair, qpn, 10);
    EXPECT_TRUE(levels_sent(pair, Lanes{}).empty());
    ASSERT_EQ(pair.client.go_to(QpState::sqd), Refusal::none);
    QpAttributes attributes;
    attributes.address = {.endpoint = pair.server.endpoint, .service_level = 7};
    ASSERT_EQ(pair.client.adapter.queue_pairs().modify(qps[1], attributes, kAddress),
              Refusal::none);
    EXPECT_EQ(pair.client.adapter.queue_pairs().destroy(qps[1]), Refusal::none);
    EXPECT_EQ(levels_sent(pair, Lanes::open()), (Levels{1}));
}

TEST(Lanes, idle_queue_pairs_ask_for_nothing) {
    Pair pair;
    add_levels(pair, Levels(1000, 3));
    Packet packet;
    EXPECT_FALSE(pair.client.adapter.poll_transmit(pair.now, Lanes::open(), packet));
    EXPECT_EQ(pair.client.adapter.next_deadline(), Instant::never());
    EXPECT_EQ(pair.client.adapter.queue_pairs().find(pair.client.qpn)->send_queue, nullptr);
    EXPECT_FALSE(pair.client.adapter.queue_pairs().find(pair.client.qpn)->in_ready_list);
}

}  // namespace
}  // namespace tulle::transport
