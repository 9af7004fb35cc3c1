#include "live/wire_path.h"

#include <gtest/gtest.h>

#include <memory>

#include "wire/opcode.h"

namespace tulle::live {
namespace {

using base::Instant;
using transport::FaultAct;
using transport::FaultRule;

class WirePathTest : public testing::Test {
protected:
    WirePathTest() {
        const Identity other = identity_of(1, true);
        board->rank = 1;
        board->gid_count = static_cast<uint32_t>(other.gids.size());
        std::copy(other.gids.begin(), other.gids.end(), board->gids);
    }

    wire::Packet packet(uint32_t psn) const {
        wire::Packet made;
        made.opcode = wire::opcode_of(wire::Service::rc, wire::Operation::send_only);
        made.set_dest_qp(wire::Qpn{0x1002});
        made.set_psn(wire::Psn{psn});
        made.payload_length = static_cast<uint32_t>(data.size());
        made.payload = wire::Payload::memory(data.data());
        return made;
    }

    // PSNs that arrive whole, in the order in which they do.
    std::vector<uint32_t> arrivals(WireSettings settings, uint32_t count) {
        settings.is_on = true;
        WirePath path(identity_of(0, true), settings);
        for (uint32_t i = 0; i < count; ++i)
            path.send(Instant{int64_t{i} * 1'000'000}, 1, *board, packet(i), nullptr);
        std::vector<uint32_t> psns;
        while (const auto sent = path.poll(Instant{int64_t{1} << 60}))
            if (const auto received = path.receive(sent->bytes))
                psns.push_back(received->packet.psn().value);
        return psns;
    }

    std::vector<std::byte> data = std::vector<std::byte>(100, std::byte{0x5a});
    std::unique_ptr<Board> board = std::make_unique<Board>();
};

WireSettings with(FaultAct act, uint32_t per_million = FaultRule::kMillion) {
    WireSettings settings;
    settings.rules = {{.per_million = per_million, .act = act, .time = transport::kUsualLateness}};
    return settings;
}

TEST_F(WirePathTest, a_packet_comes_out_as_it_went_in) {
    WirePath path(identity_of(0, true), {});
    path.send(Instant{}, 1, *board, packet(77), nullptr);
    const auto sent = path.poll(Instant{});
    ASSERT_TRUE(sent);
    EXPECT_EQ(sent->peer, 1u);
    const auto received = path.receive(sent->bytes);
    ASSERT_TRUE(received);
    EXPECT_EQ(received->packet.psn(), wire::Psn{77});
    EXPECT_EQ(received->packet.dest_qp(), wire::Qpn{0x1002});
    ASSERT_EQ(received->packet.payload_length, data.size());
    EXPECT_EQ(received->packet.payload.address()[99], std::byte{0x5a});
    EXPECT_EQ(received->grh.size(), 40u);
}

// An IPv4 header in place of a GRH does not show the group where a GRH has it.
TEST_F(WirePathTest, a_packet_to_a_group_says_which_one) {
    const wire::Gid of_ipv4 = wire::gid_of(wire::Ipv4Address{{239, 1, 2, 3}});
    const wire::Gid of_ipv6{{0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7}};
    for (const bool is_ethernet : {true, false})
        for (const wire::Gid& group : {of_ipv4, of_ipv6}) {
            WirePath path(identity_of(0, is_ethernet), {});
            path.send(Instant{}, 1, *board, packet(1), &group, {});
            const auto received = path.receive(path.poll(Instant{})->bytes);
            ASSERT_TRUE(received);
            EXPECT_EQ(received->destination, group);
        }
}

TEST_F(WirePathTest, without_faults_all_arrive_in_order) {
    const auto psns = arrivals({}, 100);
    ASSERT_EQ(psns.size(), 100u);
    for (uint32_t i = 0; i < 100; ++i) EXPECT_EQ(psns[i], i);
}

TEST_F(WirePathTest, the_same_seed_loses_the_same_packets_and_another_one_others) {
    WireSettings settings = with(FaultAct::drop, 100'000);
    const auto once = arrivals(settings, 1000);
    EXPECT_LT(once.size(), 950u);
    EXPECT_GT(once.size(), 850u);
    EXPECT_EQ(arrivals(settings, 1000), once);
    settings.seed = 2;
    EXPECT_NE(arrivals(settings, 1000), once);
}

TEST_F(WirePathTest, damage_is_noticed_wherever_the_bit_is) {
    // The link header and a few fields that switches change are not covered by the ICRC.
    EXPECT_LT(arrivals(with(FaultAct::damage), 1000).size(), 250u);
}

TEST_F(WirePathTest, a_packet_that_is_late_is_overtaken_and_one_that_is_doubled_comes_twice) {
    const auto late = arrivals(with(FaultAct::reorder, 200'000), 200);
    EXPECT_EQ(late.size(), 200u);
    EXPECT_FALSE(std::is_sorted(late.begin(), late.end()));
    EXPECT_EQ(arrivals(with(FaultAct::double_it), 50).size(), 100u);
}

TEST_F(WirePathTest, a_mark_arrives_as_switches_make_it) {
    for (const bool is_ethernet : {true, false}) {
        WirePath path(identity_of(0, is_ethernet), with(FaultAct::mark));
        path.send(Instant{}, 1, *board, packet(1), nullptr);
        const auto received = path.receive(path.poll(Instant{})->bytes);
        ASSERT_TRUE(received);
        EXPECT_EQ((received->packet.traffic_class & 3) == 3, is_ethernet);
        EXPECT_EQ(received->packet.fecn, !is_ethernet);
    }
}

TEST_F(WirePathTest, a_refusal_travels_with_the_packet_that_shall_get_it) {
    WireSettings settings = with(FaultAct::refuse);
    settings.rules[0].syndrome = 0x62;
    settings.rules[0].first = settings.rules[0].last = 2;
    WirePath path(identity_of(0, true), settings);
    for (uint32_t i = 1; i <= 2; ++i) path.send(Instant{}, 1, *board, packet(i), nullptr);
    EXPECT_EQ(path.poll(Instant{})->refusal, 0u);
    EXPECT_EQ(path.poll(Instant{})->refusal, 0x62u);
}

TEST_F(WirePathTest, while_the_link_is_down_nothing_leaves_and_nothing_arrives) {
    WireSettings settings = with(FaultAct::link_down);
    settings.rules[0].last = 1;
    settings.rules[0].time = base::Duration{1000};
    WirePath path(identity_of(0, true), settings);
    EXPECT_FALSE(path.was_down());
    path.send(Instant{500}, 1, *board, packet(1), nullptr);
    EXPECT_TRUE(path.was_down());
    path.send(Instant{1499}, 1, *board, packet(2), nullptr);
    EXPECT_TRUE(path.loses_arrival(Instant{1499}, packet(9)));
    EXPECT_FALSE(path.loses_arrival(Instant{1500}, packet(9)));
    path.send(Instant{1500}, 1, *board, packet(3), nullptr);
    const auto sent = path.poll(Instant{2000});
    ASSERT_TRUE(sent);
    EXPECT_EQ(path.receive(sent->bytes)->packet.psn(), wire::Psn{3});
    EXPECT_FALSE(path.poll(Instant{2000}));
}

TEST_F(WirePathTest, rules_know_who_sends_to_whom_and_since_when_the_run_goes) {
    WireSettings settings = with(FaultAct::drop);
    settings.program = 1;
    settings.start = Instant{-5'000};
    settings.rules[0].program = 1;
    settings.rules[0].from = 0;
    settings.rules[0].to = 1;
    settings.rules[0].after = base::Duration{6'000};
    WirePath path(identity_of(0, true), settings);
    path.send(Instant{999}, 1, *board, packet(1), nullptr);
    path.send(Instant{1'000}, 1, *board, packet(2), nullptr);
    EXPECT_TRUE(path.poll(Instant{2'000}));
    EXPECT_FALSE(path.poll(Instant{2'000}));
}

TEST_F(WirePathTest, delay_and_rate_hold_packets_back) {
    WireSettings settings;
    settings.delay = base::Duration{5'000'000};
    WirePath slow(identity_of(0, true), settings);
    slow.send(Instant{}, 1, *board, packet(0), nullptr);
    EXPECT_FALSE(slow.poll(Instant{4'999'999}));
    EXPECT_TRUE(slow.poll(Instant{5'000'000}));
    settings.delay = {};
    settings.rate_bps = 1'000'000'000;
    WirePath narrow(identity_of(0, true), settings);
    narrow.send(Instant{}, 1, *board, packet(0), nullptr);
    narrow.send(Instant{}, 1, *board, packet(1), nullptr);
    const Instant first = narrow.next_deadline();
    EXPECT_GT(first.ps, 1'000'000);
    EXPECT_TRUE(narrow.poll(first));
    EXPECT_EQ(narrow.next_deadline().ps, 2 * first.ps);
}

}  // namespace
}  // namespace tulle::live
