#include "topology/builders.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "topology/spec.h"

namespace tulle::topology {
namespace {

Graph made(std::string_view spec) {
    auto graph = build_spec(spec);
    EXPECT_TRUE(graph) << graph.error().message;
    return graph ? *graph : Graph{};
}

std::string problem(std::string_view spec) {
    const auto graph = build_spec(spec);
    return graph ? "" : graph.error().message;
}

size_t in_tier(const Graph& graph, uint8_t tier) {
    return static_cast<size_t>(std::count_if(graph.nodes.begin(), graph.nodes.end(),
                                             [&](const Node& n) { return n.tier == tier; }));
}

// The neighbours of a node, in the order of its ports.
std::vector<std::string> beside(const Graph& graph, const std::string& name) {
    const Ports ports(graph);
    std::vector<std::string> names;
    for (uint32_t i = 0; i < graph.nodes.size(); ++i)
        if (graph.nodes[i].name == name)
            for (const auto& link : ports.of(i)) names.push_back(graph.nodes[link.peer.node].name);
    return names;
}

TEST(Builders, every_one_makes_a_whole_fabric) {
    for (const char* spec : {"fat-tree:k=2",
                             "fat-tree:k=4",
                             "fat-tree:8",
                             "fat-tree:k=8,oversubscription=4",
                             "fat-tree:k=6,tiers=2",
                             "leaf-spine:leaves=4,spines=2,hosts=16",
                             "leaf-spine",
                             "leaf-spine:leaves=1,spines=0,hosts=3",
                             "rail:servers=16,rails=8",
                             "rail",
                             "rail:servers=8,rails=4,group=2,spines=3,cables=2",
                             "rail:servers=2,rails=2,storage=5",
                             "dragonfly:a=4,p=2,h=2",
                             "dragonfly:a=4,p=2,h=2,groups=3",
                             "dragonfly:a=2,p=1,h=1",
                             "dragonfly:groups=1",
                             "dragonfly+",
                             "dragonfly+:leaves=3,spines=4,hosts=2,global=2",
                             "torus:4x4x4,hosts=1",
                             "torus:2x3x1",
                             "torus:5",
                             "star:16",
                             "star:hosts=1",
                             "pair",
                             "ring:4,hosts=1",
                             "ring:3",
                             "line:3",
                             "line:1,hosts=2"}) {
        const Graph graph = made(spec);
        const auto error = graph.check();
        EXPECT_FALSE(error) << spec << ": " << error->message;
        std::set<std::string> names;
        for (const Node& node : graph.nodes) names.insert(node.name);
        EXPECT_EQ(names.size(), graph.nodes.size()) << spec;
    }
}

TEST(Builders, a_fat_tree_has_k_cubed_over_four_hosts_on_switches_of_k_ports) {
    for (const uint32_t k : {2u, 4u, 8u, 16u}) {
        const Graph graph = *build(FatTree{.k = k});
        EXPECT_EQ(graph.host_count(), k * k * k / 4);
        EXPECT_EQ(graph.switch_count(), 5 * k * k / 4);
        EXPECT_EQ(graph.cables.size(), 3 * k * k * k / 4);
        for (const Node& node : graph.nodes)
            EXPECT_EQ(node.port_count, node.is_host() ? 1 : k) << node.name;
    }
}

TEST(Builders, hosts_of_a_fat_tree_hang_on_edge_switches_in_order) {
    const Graph graph = *build(FatTree{.k = 8});
    for (uint32_t host = 0; host < 128; ++host) {
        EXPECT_EQ(graph.cables[host].a, (CableEnd{host, 0}));
        EXPECT_EQ(graph.cables[host].b.node, 128 + host / 4);
    }
    EXPECT_EQ(beside(graph, "spine1"),
              (std::vector<std::string>{"leaf0", "leaf1", "leaf2", "leaf3", "core4", "core5",
                                        "core6", "core7"}));
}

TEST(Builders, oversubscription_takes_ways_up_and_no_hosts) {
    const Graph graph = made("fat-tree:k=8,oversubscription=2");
    EXPECT_EQ(graph.host_count(), 128u);
    EXPECT_EQ(in_tier(graph, kLeafTier), 32u);
    EXPECT_EQ(in_tier(graph, kSpineTier), 16u);
    EXPECT_EQ(in_tier(graph, kCoreTier), 8u);
    EXPECT_EQ(beside(graph, "leaf31").size(), 6u);
    EXPECT_EQ(beside(graph, "core0").size(), 8u);
}

TEST(Builders, parallel_cables_of_a_leaf_lie_side_by_side) {
    const Graph graph = made("leaf-spine:leaves=2,spines=2,hosts=1,cables=2");
    EXPECT_EQ(beside(graph, "leaf1"),
              (std::vector<std::string>{"h1", "spine0", "spine0", "spine1", "spine1"}));
}

TEST(Builders, a_rail_of_a_group_shares_one_leaf) {
    const Graph graph = made("rail:servers=4,rails=2,group=2,spines=1");
    EXPECT_EQ(graph.nodes[5].server, 2u);
    EXPECT_EQ(graph.nodes[5].rail, 1u);
    EXPECT_EQ(beside(graph, "leaf1"), (std::vector<std::string>{"s0r1", "s1r1", "spine0"}));
    EXPECT_EQ(beside(graph, "leaf2"), (std::vector<std::string>{"s2r0", "s3r0", "spine0"}));
}

TEST(Builders, storage_nodes_come_after_the_rails_and_are_spread_over_the_leaves) {
    const Graph graph = made("rail:servers=4,rails=4,spines=1,storage=2");
    EXPECT_EQ(graph.host_count(), 18u);
    EXPECT_EQ(graph.nodes[16].name, "storage0");
    EXPECT_EQ(graph.nodes[17].name, "storage1");
    EXPECT_EQ(graph.nodes[16].server, 4u);
    EXPECT_EQ(graph.nodes[17].server, 5u);
    const Ports ports(graph);
    EXPECT_EQ(graph.nodes[ports.of(16)[0].peer.node].name, "leaf0");
    EXPECT_EQ(graph.nodes[ports.of(17)[0].peer.node].name, "leaf2");
    EXPECT_EQ(problem("rail:servers=0,storage=2"),
              "'rail:servers=0,storage=2': group=0 does not divide servers=0");
}

TEST(Builders, each_pair_of_dragonfly_groups_has_one_cable) {
    const Graph graph = made("dragonfly:a=4,p=2,h=2");
    EXPECT_EQ(graph.host_count(), 9u * 4 * 2);
    std::set<std::pair<uint32_t, uint32_t>> pairs;
    for (const Cable& cable : graph.cables) {
        if (graph.nodes[cable.a.node].is_host()) continue;
        const uint32_t from = (cable.a.node - 72) / 4;
        const uint32_t to = (cable.b.node - 72) / 4;
        if (from == to) continue;
        EXPECT_TRUE(pairs.insert(std::minmax(from, to)).second);
    }
    EXPECT_EQ(pairs.size(), 36u);
    for (const Node& node : graph.nodes) EXPECT_EQ(node.port_count, node.is_host() ? 1 : 2 + 3 + 2);
}

TEST(Builders, fewer_dragonfly_groups_share_the_global_cables) {
    const Graph graph = made("dragonfly+:leaves=2,spines=2,hosts=2,global=2,groups=3");
    EXPECT_EQ(graph.host_count(), 12u);
    size_t global = 0;
    for (const Cable& cable : graph.cables)
        global += graph.nodes[cable.a.node].tier == 2 && graph.nodes[cable.b.node].tier == 2;
    EXPECT_EQ(global, 6u);  // two per pair of three groups
}

TEST(Builders, a_torus_closes_each_dimension_and_doubles_no_cable) {
    const Graph graph = made("torus:4x2,hosts=1");
    EXPECT_EQ(graph.cables.size(), 8u + 8u + 4u);  // hosts, two rings of four, four pairs
    EXPECT_EQ(beside(graph, "switch3"),
              (std::vector<std::string>{"h3", "switch2", "switch0", "switch7"}));
}

TEST(Builders, islands_are_stars_that_no_cable_joins) {
    const Graph graph = *build(Islands{.islands = 3, .hosts = 4});
    EXPECT_EQ(graph.host_count(), 12u);
    EXPECT_EQ(graph.switch_count(), 3u);
    EXPECT_EQ(graph.cables.size(), 12u);
    EXPECT_EQ(graph.nodes[6].name, "g6");
    EXPECT_EQ(graph.nodes[6].server, 1u);
    EXPECT_EQ(graph.nodes[6].rail, 2u);
    EXPECT_EQ(beside(graph, "switch1"), (std::vector<std::string>{"g4", "g5", "g6", "g7"}));
    EXPECT_EQ(beside(graph, "g6"), (std::vector<std::string>{"switch1"}));
    EXPECT_FALSE(build(Islands{.islands = 2, .hosts = 0}));
    EXPECT_FALSE(build(Islands{.islands = 1'000'001, .hosts = 1}));
}

TEST(Builders, names_what_to_write_instead) {
    EXPECT_EQ(problem("fat-tree:k=7"),
              "'fat-tree:k=7': the k of a fat tree is the even number of ports of its switches, "
              "not 7");
    EXPECT_EQ(problem("fat-tree:k=8,oversubscription=3"),
              "'fat-tree:k=8,oversubscription=3': oversubscription=3 does not divide the 4 ways up "
              "of a switch with k=8");
    EXPECT_EQ(problem("fat-tree:k=8,k=8"), "'fat-tree:k=8,k=8': k is set twice");
    EXPECT_EQ(problem("fat-tree:size=8"),
              "'fat-tree:size=8': 'size=8' is not one of its settings; they are k, tiers, "
              "oversubscription, each written as key=number, and uplink=800Gbps");
    EXPECT_EQ(problem("star:-1"), "'star:-1': hosts is a whole number such as hosts=4, not '-1'");
    EXPECT_EQ(problem("star:0"), "'star:0': a star of this size has no hosts; no number may be 0");
    EXPECT_EQ(problem("torus"), "'torus': a torus needs its dimensions, such as torus:4x4x4");
    EXPECT_EQ(problem("ring:2"), "'ring:2': a ring has 3 switches or more, not 2");
    EXPECT_EQ(problem("dragonfly:a=2,p=1,h=1,groups=4"),
              "'dragonfly:a=2,p=1,h=1,groups=4': 4 groups need 3 global cables a group, but there "
              "are 2; write groups=3 or less");
    EXPECT_EQ(problem("hypercube:8").find("'hypercube:8': there is no such topology"), 0u);
    EXPECT_EQ(problem("rail:servers=4,group=3"),
              "'rail:servers=4,group=3': group=3 does not divide servers=4");
}

TEST(Builders, refuse_what_no_memory_holds) {
    for (const char* spec :
         {"star:70000", "fat-tree:k=65534", "fat-tree:k=4294967294", "torus:4000000000x4000000000",
          "leaf-spine:leaves=65535,spines=65535,hosts=1", "rail:servers=1000001,rails=1",
          "dragonfly:a=4294967295,p=4294967295,h=4294967295", "line:2000000,hosts=0",
          "dragonfly+:leaves=4294967295,spines=4294967295,hosts=4294967295,global=4294967295",
          "dragonfly:a=1,p=1,h=3000000,groups=2"})
        EXPECT_FALSE(problem(spec).empty()) << spec;
}

TEST(builders, uplink_is_the_rate_of_cables_between_switches) {
    for (const char* spec : {"fat-tree:k=4,uplink=800Gbps", "leaf-spine:uplink=800G,leaves=3"}) {
        const Graph graph = made(spec);
        for (const Cable& cable : graph.cables) {
            const bool at_host =
                graph.nodes[cable.a.node].is_host() || graph.nodes[cable.b.node].is_host();
            EXPECT_EQ(cable.rate_bps, at_host ? 0u : 800'000'000'000u);
        }
    }
    EXPECT_EQ(problem("star:4,uplink=800G"),
              "'star:4,uplink=800G': uplink has no effect: there is no cable between switches");
    EXPECT_EQ(problem("fat-tree:k=4,uplink=800G,uplink=400G"),
              "'fat-tree:k=4,uplink=800G,uplink=400G': uplink is set twice");
    EXPECT_NE(problem("fat-tree:k=4,uplink=fast"), "");
}

}  // namespace
}  // namespace tulle::topology
