// Marks of the network, and what comes back to the sender (IBTA vol 1, annexes A10 and A17.9).
#include <gtest/gtest.h>

#include <algorithm>

#include "pair.h"
#include "transport/congestion/testing.h"

namespace tulle::transport {
namespace {

using namespace base::literals;
using wire::Operation;
using Way = NotificationSettings::Way;

constexpr uint8_t kCongestion = 3;  // the ECN bits of a marked packet

bool is_notification(const Packet& packet) {
    return packet.opcode == wire::kCnpOpcode;
}

std::vector<Sent> notifications(const Pair& pair) {
    std::vector<Sent> found;
    for (const Sent& sent : pair.wire.log)
        if (is_notification(sent.packet)) found.push_back(sent);
    return found;
}

void mark_data(Packet& packet) {
    if (packet.payload_length != 0) packet.traffic_class |= kCongestion;
}

void mark_data_forward(Packet& packet) {
    if (packet.payload_length != 0) packet.fecn = true;
}

const DcqcnSettings& paper() {
    static const DcqcnSettings settings = testing::dcqcn_of_paper(100'000'000'000);
    return settings;
}

void use_dcqcn(Host& host) {
    host.adapter.queue_pairs().set_congestion_control(host.qpn, CongestionControl(Dcqcn(paper())));
}

// A word from a switch: so many share the port of that host.
void say(Host& host, base::Instant now, uint32_t busy, uint32_t sharers) {
    Packet word;
    word.kind = wire::PacketKind::back_pressure;
    word.source = busy;
    word.extended.send.immediate_or_rkey = sharers;
    host.adapter.on_packet(now, word);
}

TEST(Notify, a_word_of_a_switch_holds_up_what_goes_to_that_host_and_nothing_else) {
    static const BackPressureSettings settings;
    Pair pair;
    pair.client.adapter.queue_pairs().set_congestion_control(
        pair.client.qpn, CongestionControl(BackPressure(settings)));
    const auto rate = [&] {
        return pair.client.adapter.queue_pairs()
            .find(pair.client.qpn)
            ->congestion.back_pressure.rate_bps({});
    };
    say(pair.client, {}, pair.server.endpoint.value + 1, 4);
    EXPECT_EQ(rate(), settings.line_rate_bps);
    say(pair.client, {}, pair.server.endpoint.value, 4);
    EXPECT_LT(rate(), settings.line_rate_bps / 4);
}

TEST(Notify, a_word_of_a_switch_is_nothing_to_other_algorithms) {
    Pair pair;
    use_dcqcn(pair.client);
    say(pair.client, {}, pair.server.endpoint.value, 4);
    pair.client.post({.work = Work::write, .length = 10'000});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
}

TEST(Notify, a_marked_packet_brings_a_notification_back) {
    Pair pair({.pkey = wire::PKey{0x8123}});
    use_dcqcn(pair.client);
    pair.wire.change(mark_data);
    pair.client.post({.work = Work::send, .length = 100});
    pair.run();
    ASSERT_EQ(notifications(pair).size(), 1u);
    const Packet packet = notifications(pair)[0].packet;
    EXPECT_TRUE(packet.becn);
    EXPECT_EQ(packet.dest_qp(), pair.client.qpn);
    EXPECT_EQ(packet.destination, pair.client.endpoint.value);
    EXPECT_EQ(packet.source, pair.server.endpoint.value);
    EXPECT_EQ(packet.service_level, 6u);
    EXPECT_EQ(packet.traffic_class, 48u << 2);
    EXPECT_EQ(packet.pkey, wire::PKey{0x8123});
    EXPECT_EQ(packet.psn(), Psn{0});
    EXPECT_EQ(packet.payload_length, 0u);
    EXPECT_EQ(pair.server.counters().np_ecn_marked_roce_packets, 1u);
    EXPECT_EQ(pair.server.counters().np_cnp_sent, 1u);
    EXPECT_EQ(pair.client.counters().rp_cnp_handled, 1u);
    EXPECT_EQ(pair.client.qp().congestion.dcqcn.rate_bps(), 50'000'000'000u);
    EXPECT_EQ(pair.client.completion().status, Status::success);
}

TEST(Notify, without_congestion_control_a_notification_is_ignored_and_counted) {
    Pair pair;
    pair.wire.change(mark_data);
    pair.client.post({.work = Work::send, .length = 100});
    pair.run();
    EXPECT_EQ(pair.client.counters().rp_cnp_ignored, 1u);
    EXPECT_EQ(pair.client.counters().rp_cnp_handled, 0u);
}

TEST(Notify, within_an_interval_one_notification_goes) {
    Pair pair({.notifications = {.interval = 50_us}});
    pair.wire.change(mark_data);
    for (int i = 0; i < 6; ++i) {
        pair.client.post({.work = Work::write, .length = 4 * 1024});
        pair.run(20_us);
    }
    pair.run();
    // They come at 1, then 21, 41, 61: the first of those that is 50 us later.
    ASSERT_EQ(notifications(pair).size(), 2u);
    EXPECT_EQ(notifications(pair)[0].at, Instant{} + 1_us);
    EXPECT_EQ(pair.server.counters().np_ecn_marked_roce_packets, 24u);
}

TEST(Notify, without_an_interval_each_marked_packet_brings_one) {
    Pair pair({.notifications = {.interval = 0_us}});
    pair.wire.change(mark_data);
    pair.client.post({.work = Work::write, .length = 40 * 1024});
    pair.run();
    EXPECT_EQ(notifications(pair).size(), 40u);
}

TEST(Notify, notifications_go_ahead_of_data_in_their_own_lane) {
    Pair pair({.notifications = {.service_level = 3, .traffic_class = 0xa0}});
    pair.server.post({.work = Work::write, .length = 1024});
    Packet marked = pair.forged(pair.server, Operation::send_only, Psn{0x10'0000}, 8);
    marked.traffic_class = kCongestion;
    pair.inject(marked, pair.server.endpoint);
    Lanes lanes = Lanes::open();
    lanes.room_bytes[3] = 46 + 12 + 15;  // a byte less than it takes
    Packet packet;
    ASSERT_TRUE(pair.server.adapter.poll_transmit(pair.now, lanes, packet));
    EXPECT_FALSE(is_notification(packet));
    ++lanes.room_bytes[3];
    ASSERT_TRUE(pair.server.adapter.poll_transmit(pair.now, lanes, packet));
    EXPECT_TRUE(is_notification(packet));
    EXPECT_EQ(packet.service_level, 3u);
    EXPECT_EQ(packet.traffic_class, 0xa0u);
    EXPECT_FALSE(pair.server.adapter.poll_transmit(pair.now, lanes, packet));

    pair.server.post({.work = Work::write, .length = 1024});
    pair.now += 50_us;
    pair.inject(marked, pair.server.endpoint);
    ASSERT_TRUE(pair.server.adapter.poll_transmit(pair.now, lanes, packet));
    EXPECT_TRUE(is_notification(packet));
}

TEST(Notify, a_queue_pair_can_keep_marks_to_itself) {
    Pair pair({.type = QpType::uc});
    pair.server.adapter.queue_pairs().keep_marks_to_itself(pair.server.qpn);
    pair.wire.change(mark_data);
    pair.client.post({.work = Work::write, .length = 10'000});
    pair.run();
    EXPECT_GT(pair.server.counters().np_ecn_marked_roce_packets, 0u);
    EXPECT_EQ(pair.server.counters().np_cnp_sent, 0u);
}

TEST(Notify, notifications_of_a_lane_that_stays_closed_do_not_pile_up) {
    Pair pair({.notifications = {.interval = 0_us}});
    Packet marked = pair.forged(pair.server, Operation::send_only, Psn{0x10'0000}, 8);
    marked.traffic_class = kCongestion;
    for (int i = 0; i < 3000; ++i) pair.inject(marked, pair.server.endpoint);
    pair.run();
    EXPECT_EQ(pair.server.counters().np_cnp_sent, 1024u);
}

TEST(Notify, a_mark_may_come_back_in_the_next_answer) {
    Pair pair({.ack_every = 1, .notifications = {.way = Way::answer}});
    use_dcqcn(pair.client);
    uint64_t arrived = 0;
    pair.wire.change([&](Packet& packet) {
        if (packet.payload_length != 0 && ++arrived == 2) packet.traffic_class |= kCongestion;
    });
    for (int i = 0; i < 4; ++i) {
        pair.client.post({.work = Work::send, .length = 100});
        pair.run(3_us);
    }
    EXPECT_TRUE(notifications(pair).empty());
    for (uint64_t n = 1; n <= 4; ++n)
        EXPECT_EQ(pair.wire.find(Operation::acknowledge, n).packet.becn, n == 2) << n;
    EXPECT_EQ(pair.client.counters().rp_cnp_handled, 1u);
    EXPECT_EQ(pair.client.qp().congestion.dcqcn.rate_bps(), 50'000'000'000u);
}

TEST(Notify, a_forward_mark_comes_back_in_the_acknowledgement) {
    Pair pair;
    IbCcSettings settings;
    settings.table = {0, cct_entry(0, 1), cct_entry(0, 2)};
    const CongestionControl control{IbCc(settings)};
    pair.client.adapter.queue_pairs().set_congestion_control(pair.client.qpn, control);
    pair.wire.change(mark_data_forward);
    pair.client.post({.work = Work::send, .length = 100});
    pair.run();
    EXPECT_TRUE(pair.wire.find(Operation::acknowledge).packet.becn);
    EXPECT_TRUE(notifications(pair).empty());
    EXPECT_EQ(pair.server.counters().np_ecn_marked_roce_packets, 0u);
    EXPECT_EQ(pair.client.counters().rp_cnp_handled, 1u);
    // From now on as much time again lies behind each packet: 1046 and 12 bytes, the RETH too.
    pair.client.post({.work = Work::write, .length = 2 * 1024});
    pair.run();
    const Instant first = pair.wire.find(Operation::write_first).at;
    const Instant last = pair.wire.find(Operation::write_last).at;
    EXPECT_EQ((last - first).ps, 2 * (46 + 12 + 16 + 1024) * 80);
}

TEST(Notify, in_the_middle_of_a_message_a_forward_mark_is_heeded_too) {
    Pair pair({.ack_every = 1});
    uint64_t arrived = 0;
    pair.wire.change([&](Packet& packet) {
        if (packet.payload_length != 0 && ++arrived == 5) packet.fecn = true;
    });
    pair.client.post({.work = Work::write, .length = 10 * 1024});
    pair.run();
    EXPECT_EQ(std::count_if(pair.wire.log.begin(), pair.wire.log.end(),
                            [](const Sent& sent) { return sent.packet.becn; }),
              1);
}

TEST(Notify, where_there_are_no_answers_a_mark_brings_a_packet) {
    for (const auto mark : {mark_data, mark_data_forward}) {
        Pair pair({.type = QpType::uc, .notifications = {.way = Way::answer}});
        use_dcqcn(pair.client);
        pair.wire.change(mark);
        pair.client.post({.work = Work::send, .length = 100});
        pair.run();
        EXPECT_EQ(notifications(pair).size(), 1u);
        EXPECT_EQ(pair.client.counters().rp_cnp_handled, 1u);
    }
}

TEST(Notify, that_of_a_datagram_goes_to_the_queue_pair_it_came_from) {
    Pair pair({.type = QpType::ud});
    pair.wire.change(mark_data);
    pair.client.post({.work = Work::send, .length = 100});
    pair.run();
    ASSERT_EQ(notifications(pair).size(), 1u);
    EXPECT_EQ(notifications(pair)[0].packet.dest_qp(), pair.client.qpn);
    EXPECT_EQ(pair.client.counters().rp_cnp_ignored, 1u);
}

TEST(Notify, marks_on_what_goes_to_a_group_bring_nothing_back) {
    Pair pair({.type = QpType::ud});
    pair.server.adapter.multicast().attach(pair.server.qpn, {77});
    Packet packet = pair.forged(pair.server, Operation::send_only, Psn{0}, 8);
    packet.destination = 77;
    packet.set_dest_qp(Qpn{0xff'ffff});
    packet.traffic_class = kCongestion;
    packet.extended.send = {pair.server.qp().qkey, pair.client.qpn, 0};
    pair.inject(packet, pair.server.endpoint);
    pair.run();
    EXPECT_EQ(pair.server.counters().np_ecn_marked_roce_packets, 1u);
    EXPECT_TRUE(notifications(pair).empty());
}

TEST(Notify, a_marked_acknowledgement_brings_nothing_back) {
    Pair pair;
    pair.wire.change([](Packet& packet) {
        if (packet.payload_length == 0) packet.traffic_class |= kCongestion;
    });
    pair.client.post({.work = Work::send, .length = 100});
    pair.run();
    EXPECT_EQ(pair.client.counters().np_ecn_marked_roce_packets, 1u);
    EXPECT_TRUE(notifications(pair).empty());
}

TEST(Notify, data_that_was_read_notifies_whoever_sent_it) {
    Pair pair({.notifications = {.way = Way::answer}});
    use_dcqcn(pair.server);
    pair.wire.change(mark_data);
    pair.client.post({.work = Work::read, .length = 4096});
    pair.run();
    ASSERT_EQ(notifications(pair).size(), 1u);
    EXPECT_EQ(notifications(pair)[0].to, pair.server.endpoint);
    EXPECT_EQ(pair.server.counters().rp_cnp_handled, 1u);
}

TEST(Notify, a_notification_from_somebody_else_is_not_heard) {
    Pair pair;
    use_dcqcn(pair.client);
    Packet cnp = pair.forged(pair.client, Operation::acknowledge, Psn{0});
    cnp.opcode = wire::kCnpOpcode;
    cnp.source = 9;
    pair.inject(cnp, pair.client.endpoint);
    EXPECT_EQ(pair.client.counters().rp_cnp_handled, 0u);
}

TEST(Notify, a_sender_that_heeds_marks_says_so) {
    Pair pair;
    pair.client.post({.work = Work::send, .length = 100});
    pair.run();
    use_dcqcn(pair.client);
    pair.client.post({.work = Work::send, .length = 100});
    pair.run();
    EXPECT_EQ(pair.wire.find(Operation::send_only, 1).packet.traffic_class, 0u);
    EXPECT_EQ(pair.wire.find(Operation::send_only, 2).packet.traffic_class, 2u);
}

TEST(Notify, after_a_notification_packets_go_at_the_lower_rate) {
    Pair pair;
    use_dcqcn(pair.client);
    Packet cnp = pair.forged(pair.client, Operation::acknowledge, Psn{0});
    cnp.opcode = wire::kCnpOpcode;
    pair.inject(cnp, pair.client.endpoint);
    pair.client.post({.work = Work::write, .length = 10 * 1024});
    pair.run();
    const Instant first = pair.wire.find(Operation::write_middle, 1).at;
    const Instant last = pair.wire.find(Operation::write_last).at;
    EXPECT_EQ((last - first).ps, 8 * (46 + 12 + 1024) * 160);  // 50 Gb/s
}

TEST(Notify, marks_do_not_disturb_data) {
    Pair pair({.ack_every = 4, .notifications = {.interval = 0_us}});
    use_dcqcn(pair.client);
    pair.wire.change(mark_data);
    pair.client.post({.work = Work::write, .length = 100 * 1024});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 0, 100 * 1024));
}

TEST(Window, each_packet_is_acknowledged_if_each_asks) {
    Pair pair({.ack_every = 1});
    const CongestionControl slow(
        FixedRate(base::Rate::bits_per_second(8'000'000)));  // so that none overtakes another
    pair.client.adapter.queue_pairs().set_congestion_control(pair.client.qpn, slow);
    pair.client.post({.work = Work::write, .length = 20 * 1024});
    pair.run();
    EXPECT_EQ(pair.wire.count(Operation::acknowledge), 20u);
}

TEST(Window, no_bound_lets_a_whole_message_go) {
    Pair bounded({.max_packets_outstanding = 7});
    Pair unbounded({.max_packets_outstanding = 0});
    for (Pair* pair : {&bounded, &unbounded}) {
        pair->client.post({.work = Work::write, .length = 500 * 1024});
        pair->run(0_us);
    }
    EXPECT_EQ(bounded.wire.log.size(), 7u);
    EXPECT_EQ(unbounded.wire.log.size(), 500u);
}

}  // namespace
}  // namespace tulle::transport
