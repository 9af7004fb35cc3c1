// Stories of switches that build a spanning tree: who is the root, what is blocked, and how fast it
// moves when something breaks.
#include <gtest/gtest.h>

#include <algorithm>

#include "control/distributed/fabric_of_bridges.h"
#include "control/distributed/testing.h"

namespace tulle::control {
namespace {

using namespace testing;

DistributedSettings tree_settings() {
    DistributedSettings settings;
    settings.protocol = Protocol::spanning_tree;
    return settings;
}

FabricOfBridges settled_tree(const topology::Graph& graph,
                             const DistributedSettings& settings = tree_settings()) {
    FabricOfBridges fabric(graph, delays_of(graph), rates_of(graph), settings);
    EXPECT_TRUE(fabric.run_until_settled(Instant{} + 60 * kWholeSecond));
    return fabric;
}

TEST(Bridges, send_smallest_frames) {
    const auto graph = graph_of("ring:4,hosts=1");
    const uint32_t cable = cable_between(graph, "switch0", "switch1");
    const History history =
        history_of(graph, {{Kind::cable_down, Instant{} + kMillisecond, cable}}, tree_settings());
    const Repair& repair = history.repairs[0];
    EXPECT_GE(history.management.size(), repair.messages) << "with hellos";
    EXPECT_GT(repair.messages, 0u);
    EXPECT_EQ(repair.bytes, history.management.size() * 84);
    for (const ManagementSent& sent : history.management) {
        EXPECT_EQ(sent.bytes, 84u);
        EXPECT_FALSE(graph.nodes[sent.from.node].is_host());
    }
}

uint32_t count_between_switches(const topology::Graph& graph) {
    return static_cast<uint32_t>(std::ranges::count_if(graph.cables, [&](const auto& cable) {
        return !graph.nodes[cable.a.node].is_host() && !graph.nodes[cable.b.node].is_host();
    }));
}

TEST(Bridges, elect_the_lowest_address_and_block_what_closes_a_circle) {
    const auto graph = graph_of("leaf-spine:leaves=4,spines=3,hosts=2");
    const auto fabric = settled_tree(graph);
    const uint32_t first = node_named(graph, "leaf0");
    for (uint32_t node = 0; node < graph.nodes.size(); ++node)
        if (!graph.nodes[node].is_host()) {
            EXPECT_EQ(fabric.bridge(node).root(), bridge_id(0x8000, first));
        }
    // A tree of seven switches has six cables.
    EXPECT_EQ(fabric.blocked_cables().size(), count_between_switches(graph) - 6u);
}

TEST(Bridges, prefer_a_fast_way_to_a_short_one) {
    auto graph = graph_of("ring:4,hosts=1");
    std::vector<uint64_t> rates = rates_of(graph);
    const uint32_t slow = cable_between(graph, "switch0", "switch3");
    rates[slow] = 10'000'000'000;
    FabricOfBridges fabric(graph, delays_of(graph), rates, tree_settings());
    ASSERT_TRUE(fabric.run_until_settled(Instant{} + 60 * kWholeSecond));
    EXPECT_EQ(fabric.blocked_cables(), std::vector<uint32_t>{slow});
}

// Ports propose and agree: nobody waits for a forward delay, though a port that has much to say may
// wait until it may speak again.
TEST(Bridges, come_up_within_seconds) {
    const auto graph = graph_of("fat-tree:k=4");
    const History history = history_of(graph, {}, tree_settings());
    EXPECT_LT(history.bring_up, 6 * kWholeSecond);
    EXPECT_GT(history.bring_up_messages, count_between_switches(graph));
}

TEST(Bridges, repair_a_dead_link_of_the_tree_within_milliseconds_of_its_light) {
    const auto graph = graph_of("leaf-spine:leaves=4,spines=3,hosts=2");
    const History history = history_of(
        graph,
        {{Kind::cable_down, Instant{} + kMillisecond, cable_between(graph, "leaf0", "spine0")}},
        tree_settings());
    ASSERT_TRUE(history.repairs[0].is_repaired());
    EXPECT_GT(history.repairs[0].broken_pairs, 0u);
    const Duration took = history.repairs[0].repaired - history.repairs[0].cause.at;
    EXPECT_GT(took, DistributedSettings{}.light);
    EXPECT_LT(took, 5 * kMillisecond);
}

TEST(Bridges, do_not_mind_a_dead_link_that_was_blocked) {
    const auto graph = graph_of("leaf-spine:leaves=4,spines=3,hosts=2");
    const uint32_t blocked = settled_tree(graph).blocked_cables().front();
    const History history =
        history_of(graph, {{Kind::cable_down, Instant{} + kMillisecond, blocked}}, tree_settings());
    EXPECT_EQ(history.repairs[0].broken_pairs, 0u);
    EXPECT_EQ(history.repairs[0].writes, 0u);
}

// Three hellos may be lost.
TEST(Bridges, wait_for_three_hellos_where_no_light_is_lost) {
    const auto graph = graph_of("leaf-spine:leaves=2,spines=2,hosts=1");
    DistributedSettings settings = tree_settings();
    settings.light = {};
    const History history = history_of(
        graph,
        {{Kind::cable_down, Instant{} + kMillisecond, cable_between(graph, "leaf1", "spine0")}},
        settings);
    ASSERT_TRUE(history.repairs[0].is_repaired());
    const Duration took = history.repairs[0].repaired - history.repairs[0].cause.at;
    EXPECT_GT(took, 3 * kWholeSecond);
    EXPECT_LT(took, 7 * kWholeSecond);
}

TEST(Bridges, elect_another_root_when_theirs_dies) {
    const auto graph = graph_of("leaf-spine:leaves=4,spines=3,hosts=2");
    const uint32_t first = node_named(graph, "leaf0");
    const History history =
        history_of(graph, {{Kind::switch_down, Instant{} + kMillisecond, first}}, tree_settings());
    EXPECT_TRUE(history.repairs[0].is_repaired());
    EXPECT_EQ(history.repairs[0].cut_off, (std::vector<uint32_t>{0, 1}));
    EXPECT_EQ(history.repairs[0].unserved_pairs, 0u);
}

TEST(Bridges, serve_every_pair_that_can_talk_whatever_broke_meanwhile) {
    for (uint64_t seed = 1; seed <= 300; ++seed) {
        const auto graph = random_fabric(seed);
        const auto disturbances = random_disturbances(graph, seed);
        if (disturbances.empty()) continue;
        DistributedSettings settings = tree_settings();
        if (seed % 3 == 0) settings.light = {};
        const History history = history_of(graph, disturbances, settings);
        ASSERT_EQ(history.repairs.back().unserved_pairs, 0u) << "seed " << seed;
        ASSERT_TRUE(history.repairs.back().is_repaired()) << "seed " << seed;
    }
}

bool has_circle(const topology::Graph& graph, const FabricOfBridges& fabric) {
    std::vector<uint32_t> piece(graph.nodes.size());
    for (uint32_t node = 0; node < piece.size(); ++node) piece[node] = node;
    for (uint32_t i = 0; i < graph.cables.size(); ++i) {
        const topology::Cable& cable = graph.cables[i];
        if (graph.nodes[cable.a.node].is_host() || graph.nodes[cable.b.node].is_host() ||
            !fabric.carries(i))
            continue;
        const uint32_t one = piece[cable.a.node];
        const uint32_t other = piece[cable.b.node];
        if (one == other) return true;
        std::ranges::replace(piece, one, other);
    }
    return false;
}

// Data never goes in a circle: cables that carry it make a forest at every instant.
TEST(Bridges, never_close_a_circle) {
    for (uint64_t seed = 1; seed <= 100; ++seed) {
        const auto graph = random_fabric(seed);
        FabricOfBridges fabric(graph, delays_of(graph), rates_of(graph), tree_settings());
        ASSERT_TRUE(fabric.run_until_settled(Instant{} + 60 * kWholeSecond)) << "seed " << seed;
        Instant begin = fabric.now();
        for (const Disturbance& cause : random_disturbances(graph, seed)) {
            const bool is_up = cause.kind == Kind::cable_up || cause.kind == Kind::switch_up;
            for (Instant at = fabric.now(); at < begin + (cause.at - Instant{});
                 at = at + 100 * kMicrosecond) {
                fabric.run_until(at);
                ASSERT_FALSE(has_circle(graph, fabric)) << "seed " << seed;
            }
            if (cause.kind == Kind::cable_down || cause.kind == Kind::cable_up)
                fabric.set_cable(cause.subject, is_up);
            else
                fabric.set_switch(cause.subject, is_up);
        }
    }
}

}  // namespace
}  // namespace tulle::control
