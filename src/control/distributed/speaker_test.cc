// Stories of switches that speak BGP: what they tell each other, and what their tables say.
#include <gtest/gtest.h>

#include <algorithm>

#include "control/distributed/fabric_of_speakers.h"
#include "control/distributed/testing.h"

namespace tulle::control {
namespace {

using namespace testing;

FabricOfSpeakers settled(const topology::Graph& graph, DistributedSettings settings = {}) {
    FabricOfSpeakers fabric(graph, delays_of(graph), rates_of(graph), settings);
    EXPECT_TRUE(fabric.run_until_settled(Instant{} + 60 * kWholeSecond));
    return fabric;
}

const std::vector<uint16_t>& table_of(const FabricOfSpeakers& fabric, const topology::Graph& graph,
                                      std::string_view at, uint32_t endpoint) {
    return fabric.speaker(node_named(graph, at)).table(fabric.prefix_of()[endpoint]);
}

TEST(Speakers, learn_all_equally_short_ways) {
    const auto graph = graph_of("leaf-spine:leaves=4,spines=3,hosts=2");
    const auto fabric = settled(graph);
    EXPECT_EQ(table_of(fabric, graph, "leaf0", 7).size(), 3u);   // any spine
    EXPECT_EQ(table_of(fabric, graph, "spine0", 7).size(), 1u);  // its leaf alone
    EXPECT_TRUE(table_of(fabric, graph, "leaf3", 7).empty());    // the hosts are here
}

// Each of 4 leaves tells 3 spines of its hosts, and each spine the 3 others; of what it hears first
// a leaf tells the other spines, which refuse it. Besides, two OPENs a session.
TEST(Speakers, count_what_they_say) {
    const auto graph = graph_of("leaf-spine:leaves=4,spines=3,hosts=2");
    const auto fabric = settled(graph);
    uint64_t opens = 0;
    uint64_t updates = 0;
    uint64_t looped = 0;
    for (uint32_t node = 0; node < graph.nodes.size(); ++node) {
        if (graph.nodes[node].is_host()) continue;
        opens += fabric.speaker(node).counters().opens;
        updates += fabric.speaker(node).counters().updates;
        looped += fabric.speaker(node).counters().looped;
    }
    EXPECT_EQ(opens, 2u * 12);
    EXPECT_GE(updates, 4u * 3 + 3u * 4 * 3);
    EXPECT_GT(looped, 0u);
    EXPECT_EQ(fabric.messages(), opens + updates);
}

TEST(Speakers, take_a_dead_link_out_of_their_sets) {
    const auto graph = graph_of("leaf-spine:leaves=4,spines=3,hosts=2");
    auto fabric = settled(graph);
    fabric.set_cable(cable_between(graph, "leaf0", "spine1"), false);
    ASSERT_TRUE(fabric.run_until_settled(fabric.now() + 10 * kWholeSecond));
    EXPECT_EQ(table_of(fabric, graph, "leaf0", 7).size(), 2u);  // by loss of light
    EXPECT_EQ(table_of(fabric, graph, "leaf3", 0).size(), 2u);  // by a withdrawal
    EXPECT_EQ(table_of(fabric, graph, "leaf3", 2).size(), 3u);  // others as before
    EXPECT_TRUE(table_of(fabric, graph, "spine1", 0).empty());  // a leaf does not lead up again
    fabric.set_cable(cable_between(graph, "leaf0", "spine1"), true);
    ASSERT_TRUE(fabric.run_until_settled(fabric.now() + 60 * kWholeSecond));
    EXPECT_EQ(table_of(fabric, graph, "leaf3", 0).size(), 3u);
}

// RFC 7938, 5.2.1. With a system for each switch, spines that lost a leaf go through the ways down
// and up again that other leaves had told them of, one after the other.
TEST(Speakers, of_one_system_a_tier_do_not_hunt_for_paths) {
    const auto graph = graph_of("leaf-spine:leaves=6,spines=4,hosts=1");
    const auto messages = [&](SystemScheme scheme) {
        DistributedSettings settings;
        settings.systems = scheme;
        return history_of(
                   graph,
                   {{Kind::switch_down, Instant{} + kMillisecond, node_named(graph, "leaf0")}},
                   settings)
            .repairs[0]
            .messages;
    };
    EXPECT_LT(messages(SystemScheme::by_tier), messages(SystemScheme::by_switch));
}

TEST(Speakers, repair_a_dead_link_within_milliseconds_of_its_light) {
    const auto graph = graph_of("leaf-spine:leaves=4,spines=3,hosts=2");
    const auto cable = cable_between(graph, "leaf0", "spine1");
    const History history =
        history_of(graph, {{Kind::cable_down, Instant{} + kMillisecond, cable}});
    const Repair& repair = history.repairs[0];
    ASSERT_TRUE(repair.is_repaired());
    const Duration took = repair.repaired - repair.cause.at;
    EXPECT_GT(took, DistributedSettings{}.light);
    EXPECT_LT(took, 3 * kMillisecond);
    EXPECT_EQ(repair.broken_pairs, 2u * 2 * 6);  // between the two hosts of leaf0 and six others
    EXPECT_EQ(repair.unserved_pairs, 0u);
    EXPECT_EQ(repair.cut_off_pairs, 0u);
    EXPECT_GT(history.bring_up, kWholeSecond);  // FRR waits for a second before it begins
}

TEST(Speakers, wait_for_the_hold_timer_where_no_light_is_lost) {
    const auto graph = graph_of("leaf-spine:leaves=2,spines=2,hosts=1");
    DistributedSettings settings;
    settings.light = {};
    settings.speaker.keepalive = 3 * kWholeSecond;
    settings.speaker.hold = 9 * kWholeSecond;
    const auto cable = cable_between(graph, "leaf0", "spine1");
    const auto repaired_after = [&] {
        const History history =
            history_of(graph, {{Kind::cable_down, Instant{} + kMillisecond, cable}}, settings);
        EXPECT_TRUE(history.repairs[0].is_repaired());
        return history.repairs[0].repaired - history.repairs[0].cause.at;
    };
    const Duration by_hold_timer = repaired_after();
    EXPECT_GT(by_hold_timer, 6 * kWholeSecond);
    EXPECT_LT(by_hold_timer, 10 * kWholeSecond);
    settings.speaker.bfd = 300 * kMillisecond;
    const Duration by_bfd = repaired_after();
    EXPECT_GT(by_bfd, 500 * kMillisecond);
    EXPECT_LT(by_bfd, 1000 * kMillisecond);
}

// The first message of a kind that leaves a port of a speaker with one neighbour.
uint32_t wire_bytes_of(BgpMessage::Kind kind) {
    const SpeakerSettings settings{.bfd = kMillisecond};
    AsPaths paths;
    Speaker speaker(settings, 4'200'000'000, 1, 1, 0, paths);
    Instant now{};
    speaker.on_link(now, 0, true);
    for (int i = 0; i < 20; ++i) {
        while (const auto out = speaker.poll_transmit()) {
            if (out->message.kind == kind) return wire_bytes(out->message);
            if (out->message.kind == BgpMessage::Kind::open) {
                speaker.on_message(now, 0, {.kind = BgpMessage::Kind::open});
                speaker.on_message(now, 0, {.kind = BgpMessage::Kind::keepalive});
                speaker.settle();
            }
        }
        now = speaker.next_deadline();
        speaker.on_timer(now);
    }
    return 0;
}

// 38 of Ethernet with preamble and gap, 20 of IP, 32 of TCP; before an OPEN 98 of a SYN.
TEST(Speakers, send_messages_with_all_their_headers) {
    EXPECT_EQ(wire_bytes_of(BgpMessage::Kind::open), 98u + 90 + 49);
    EXPECT_EQ(wire_bytes_of(BgpMessage::Kind::keepalive), 90u + 19);
    EXPECT_EQ(wire_bytes_of(BgpMessage::Kind::bfd), 38u + 20 + 8 + 24);
    // One route with the path of one system: ORIGIN 4, AS_PATH 9, NEXT_HOP 7, the prefix 4.
    EXPECT_EQ(wire_bytes_of(BgpMessage::Kind::update), 90u + 23 + 4 + 9 + 7 + 4);
    EXPECT_EQ(wire_bytes_of(BgpMessage::Kind::notification), 90u + 21) << "BFD hears nothing";
}

// Those that leave together share segments of 9,048 bytes.
TEST(Speakers, share_segments_and_are_acknowledged) {
    const BgpMessage many{.kind = BgpMessage::Kind::update, .updates = 400, .bytes = 3 * 9048 + 1};
    EXPECT_EQ(wire_bytes(many), 3 * 9048 + 1 + 4 * 90u);
    EXPECT_EQ(acknowledgement_bytes(many), 2 * 90u);
    EXPECT_EQ(acknowledgement_bytes({.kind = BgpMessage::Kind::bfd, .bytes = 24}), 0u);
}

// The spine withdraws one prefix from the other leaf: 27 bytes of BGP, and an acknowledgement.
TEST(Speakers, take_their_bytes_from_the_cables_that_they_use) {
    const auto graph = graph_of("leaf-spine:leaves=2,spines=1,hosts=1");
    const Instant fault = Instant{} + kMillisecond;
    const History history =
        history_of(graph, {{Kind::cable_down, fault, cable_between(graph, "leaf0", "spine0")}});
    ASSERT_EQ(history.management.size(), 2u);
    std::vector<ManagementSent> sent = history.management;
    std::ranges::sort(sent, {}, &ManagementSent::at);
    EXPECT_EQ(sent[0].from.node, node_named(graph, "spine0"));
    EXPECT_EQ(sent[0].bytes, 90u + 27);
    EXPECT_EQ(sent[1].from.node, node_named(graph, "leaf1"));
    EXPECT_EQ(sent[1].bytes, 90u);
    EXPECT_GT(sent[0].at, fault + DistributedSettings{}.light);
    EXPECT_EQ(sent[1].at - sent[0].at, Duration{135'000 + 117 * 80}) << "cable and line";
    EXPECT_EQ(history.repairs[0].bytes, 2 * 90u + 27);
}

TEST(Speakers, forget_nothing_over_an_outage_that_nobody_noticed) {
    const auto graph = graph_of("leaf-spine:leaves=3,spines=2,hosts=1");
    DistributedSettings settings;
    settings.light = {};
    const auto cable = cable_between(graph, "leaf0", "spine0");
    const auto other = cable_between(graph, "leaf1", "spine0");
    DistributedSettings quick = settings;
    quick.speaker.bfd = Duration{};
    const History history =
        history_of(graph,
                   {{Kind::cable_down, Instant{} + kMillisecond, cable},
                    {Kind::switch_down, Instant{} + 2 * kMillisecond, node_named(graph, "leaf2")},
                    {Kind::cable_up, Instant{} + 5 * kWholeSecond, cable},
                    {Kind::cable_down, Instant{} + 6 * kWholeSecond, other},
                    {Kind::cable_up, Instant{} + 7 * kWholeSecond, other}},
                   quick);
    EXPECT_EQ(history.repairs.back().unserved_pairs, 0u);
}

TEST(Speakers, say_who_is_cut_off) {
    const auto graph = graph_of("leaf-spine:leaves=2,spines=2,hosts=2");
    const History history = history_of(
        graph, {{Kind::switch_down, Instant{} + kMillisecond, node_named(graph, "leaf1")}});
    EXPECT_EQ(history.repairs[0].cut_off, (std::vector<uint32_t>{2, 3}));
    EXPECT_EQ(history.repairs[0].cut_off_pairs, 2u * 5);
    EXPECT_TRUE(history.repairs[0].is_repaired());
}

TEST(Speakers, survive_a_link_that_flaps) {
    const auto graph = graph_of("leaf-spine:leaves=3,spines=2,hosts=2");
    const auto cable = cable_between(graph, "leaf0", "spine0");
    std::vector<Disturbance> flaps;
    for (int i = 0; i < 6; ++i)
        flaps.push_back({i % 2 == 0 ? Kind::cable_down : Kind::cable_up,
                         Instant{} + kMillisecond + i * 300 * kMicrosecond, cable});
    const History history = history_of(graph, flaps);
    EXPECT_TRUE(history.repairs.back().is_repaired());
    EXPECT_EQ(history.repairs.back().unserved_pairs, 0u);
}

TEST(Speakers, relearn_all_that_a_switch_forgot) {
    const auto graph = graph_of("leaf-spine:leaves=3,spines=2,hosts=2");
    const auto spine = node_named(graph, "spine0");
    const History history =
        history_of(graph, {{Kind::switch_down, Instant{} + kMillisecond, spine},
                           {Kind::switch_up, Instant{} + 20 * kMillisecond, spine}});
    EXPECT_TRUE(history.repairs[0].is_repaired());
    EXPECT_EQ(history.repairs.back().unserved_pairs, 0u);
    EXPECT_GT(history.repairs[1].writes, 0u);
}

TEST(Speakers, serve_every_pair_that_can_talk_whatever_broke_meanwhile) {
    for (uint64_t seed = 1; seed <= 300; ++seed) {
        const auto graph = random_fabric(seed);
        const auto disturbances = random_disturbances(graph, seed);
        if (disturbances.empty()) continue;
        DistributedSettings settings;
        if (seed % 3 == 0) {
            settings.light = {};
            settings.speaker.keepalive = 3 * kWholeSecond;
            settings.speaker.hold = 9 * kWholeSecond;
        }
        const History history = history_of(graph, disturbances, settings);
        ASSERT_EQ(history.repairs.back().unserved_pairs, 0u) << "seed " << seed;
        ASSERT_TRUE(history.repairs.back().is_repaired()) << "seed " << seed;
    }
}

}  // namespace
}  // namespace tulle::control
