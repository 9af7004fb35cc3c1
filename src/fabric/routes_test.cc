#include "fabric/routes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "topology/builders.h"
#include "topology/spec.h"

namespace tulle::fabric {
namespace {

using topology::Graph;
using topology::Ports;

constexpr const char* kFabrics[] = {
    "fat-tree:k=4",
    "fat-tree:k=8,oversubscription=2",
    "leaf-spine:leaves=4,spines=2,hosts=3,cables=2",
    "rail:servers=4,rails=3,group=2",
    "dragonfly:a=4,p=1,h=2",
    "dragonfly:a=4,p=1,h=2,groups=3",
    "dragonfly+:leaves=2,spines=2,hosts=2,global=2",
    "torus:4x4",
    "torus:3x4x2,hosts=2",
    "star:5",
    "pair",
    "ring:5,hosts=2",
    "line:4",
};
constexpr RouteKind kKinds[] = {RouteKind::shortest, RouteKind::up_down, RouteKind::spanning_tree};

Graph made(const std::string& spec) {
    return *topology::build_spec(spec);
}

// One host with cables to two switches that a third one joins, and hosts on each of the three.
Graph dual_homed() {
    Graph graph;
    for (const char* name : {"two", "left", "right", "top"}) graph.add({.name = name});
    for (const char* name : {"a", "b", "c"})
        graph.add({.name = name, .kind = topology::NodeKind::switch_node, .tier = 1});
    graph.connect(0, 4);
    graph.connect(0, 5);
    graph.connect(1, 4);
    graph.connect(2, 5);
    graph.connect(3, 6);
    graph.connect(4, 6);
    graph.connect(5, 6);
    return graph;
}

// How many cables a packet crosses when it takes the last choice everywhere; 0: it does not arrive.
uint32_t hops(const Graph& graph, const Routes& routes, uint32_t from, uint32_t to) {
    const Ports ports(graph);
    const std::vector<uint32_t> hosts = graph.endpoints();
    uint32_t node = hosts[from];
    for (uint32_t count = 0; count <= graph.nodes.size(); ++count) {
        if (node == hosts[to]) return count;
        const auto choices = routes.ports(node, to);
        if (choices.empty()) return 0;
        node = ports.at({node, choices[choices.size() - 1]}).peer.node;
    }
    ADD_FAILURE() << "a packet from " << from << " to " << to << " goes round and round";
    return 0;
}

// Distances by the book, for comparison: every cable is a hop, hosts pass nothing on.
std::vector<uint32_t> shortest_from(const Graph& graph, uint32_t start) {
    const Ports ports(graph);
    std::vector<uint32_t> distance(graph.nodes.size(), topology::kNone);
    std::vector<uint32_t> queue{start};
    distance[start] = 0;
    for (size_t i = 0; i < queue.size(); ++i) {
        if (i > 0 && graph.nodes[queue[i]].is_host()) continue;
        for (const auto& link : ports.of(queue[i]))
            if (distance[link.peer.node] == topology::kNone) {
                distance[link.peer.node] = distance[queue[i]] + 1;
                queue.push_back(link.peer.node);
            }
    }
    return distance;
}

// Whether packets that wait for one another's buffers can close a circle: a directed cable depends
// on every one that a packet which arrived by it, bound for the same host, may take next.
bool can_deadlock(const Graph& graph, const Routes& routes) {
    const Ports ports(graph);
    const auto channel = [&](topology::CableEnd out) {
        const uint32_t cable = ports.at(out).cable;
        return 2 * cable + (graph.cables[cable].a == out ? 0 : 1);
    };
    std::vector<std::vector<uint32_t>> waits_for(2 * graph.cables.size());
    for (uint32_t to = 0; to < graph.host_count(); ++to)
        for (uint32_t node = 0; node < graph.nodes.size(); ++node)
            for (const uint16_t port : routes.ports(node, to)) {
                const uint32_t next = ports.at({node, port}).peer.node;
                for (const uint16_t next_port : routes.ports(next, to))
                    waits_for[channel({node, port})].push_back(channel({next, next_port}));
            }
    std::vector<int> state(waits_for.size());  // 0 not seen, 1 on the way, 2 done
    std::function<bool(uint32_t)> circles = [&](uint32_t at) {
        state[at] = 1;
        for (const uint32_t next : waits_for[at])
            if (state[next] == 1 || (state[next] == 0 && circles(next))) return true;
        state[at] = 2;
        return false;
    };
    for (uint32_t i = 0; i < waits_for.size(); ++i)
        if (state[i] == 0 && circles(i)) return true;
    return false;
}

TEST(Routes, every_host_reaches_every_other_on_every_fabric) {
    for (const std::string spec : kFabrics)
        for (const RouteKind kind : kKinds) {
            const Graph graph = made(spec);
            const Routes routes = Routes::compute(graph, kind);
            for (uint32_t from = 0; from < graph.host_count(); ++from)
                for (uint32_t to = 0; to < graph.host_count(); ++to)
                    EXPECT_EQ(hops(graph, routes, from, to) > 0, from != to)
                        << spec << " from " << from << " to " << to;
        }
}

TEST(Routes, shortest_paths_are_as_short_as_paths_can_be) {
    for (const std::string spec : kFabrics) {
        const Graph graph = made(spec);
        const Routes routes = Routes::compute(graph, RouteKind::shortest);
        const auto hosts = graph.endpoints();
        for (uint32_t from = 0; from < hosts.size(); ++from) {
            const auto distance = shortest_from(graph, hosts[from]);
            for (uint32_t to = 0; to < hosts.size(); ++to)
                EXPECT_EQ(hops(graph, routes, from, to), distance[hosts[to]]) << spec;
        }
    }
}

TEST(Routes, up_down_is_as_short_where_the_fabric_has_tiers) {
    for (const std::string spec : {"fat-tree:k=4", "leaf-spine:leaves=4,spines=2,hosts=3",
                                   "rail:servers=4,rails=3,group=2"}) {
        const Graph graph = made(spec);
        const Routes shortest = Routes::compute(graph, RouteKind::shortest);
        const Routes up_down = Routes::compute(graph, RouteKind::up_down);
        for (uint32_t node = 0; node < graph.nodes.size(); ++node)
            for (uint32_t to = 0; to < graph.host_count(); ++to)
                EXPECT_TRUE(std::ranges::equal(shortest.ports(node, to), up_down.ports(node, to)))
                    << spec << " at " << node;
    }
}

TEST(Routes, a_fat_tree_offers_half_of_its_ports_on_the_way_up_and_one_on_the_way_down) {
    const Graph graph = made("fat-tree:k=8");
    for (const RouteKind kind : {RouteKind::shortest, RouteKind::up_down}) {
        const Routes routes = Routes::compute(graph, kind);
        const uint32_t leaf = 128;
        const uint32_t spine = 160;
        const uint32_t core = 192;
        EXPECT_EQ(routes.ports(0, 127).size(), 1u);
        EXPECT_TRUE(std::ranges::equal(routes.ports(leaf, 127), std::vector<uint16_t>{4, 5, 6, 7}));
        EXPECT_TRUE(std::ranges::equal(routes.ports(leaf, 4), std::vector<uint16_t>{4, 5, 6, 7}));
        EXPECT_TRUE(std::ranges::equal(routes.ports(leaf, 3), std::vector<uint16_t>{3}));
        EXPECT_TRUE(
            std::ranges::equal(routes.ports(spine, 127), std::vector<uint16_t>{4, 5, 6, 7}));
        EXPECT_TRUE(std::ranges::equal(routes.ports(spine, 15), std::vector<uint16_t>{3}));
        EXPECT_TRUE(std::ranges::equal(routes.ports(core, 127), std::vector<uint16_t>{7}));
        EXPECT_TRUE(routes.ports(0, 0).empty());
    }
}

TEST(Routes, up_down_and_the_tree_cannot_deadlock_on_any_fabric) {
    for (const std::string spec : kFabrics) {
        const Graph graph = made(spec);
        EXPECT_FALSE(can_deadlock(graph, Routes::compute(graph, RouteKind::up_down))) << spec;
        EXPECT_FALSE(can_deadlock(graph, Routes::compute(graph, RouteKind::spanning_tree))) << spec;
    }
}

TEST(Routes, shortest_paths_can_deadlock_on_a_ring_and_not_on_a_fat_tree) {
    for (const auto& [spec, expected] :
         {std::pair("ring:5", true), {"torus:5x5", true}, {"fat-tree:k=4", false}}) {
        const Graph graph = made(spec);
        EXPECT_EQ(can_deadlock(graph, Routes::compute(graph, RouteKind::shortest)), expected)
            << spec;
    }
}

TEST(Routes, a_broken_cable_is_avoided) {
    const Graph graph = made("fat-tree:k=4");
    for (uint32_t broken = 16; broken < graph.cables.size(); ++broken) {
        std::vector<bool> down(graph.cables.size());
        down[broken] = true;
        for (const RouteKind kind : kKinds) {
            const Routes routes = Routes::compute(graph, kind, down);
            for (const auto end : {graph.cables[broken].a, graph.cables[broken].b})
                for (uint32_t to = 0; to < 16; ++to)
                    EXPECT_EQ(std::ranges::count(routes.ports(end.node, to), end.port), 0);
            for (uint32_t to = 1; to < 16; ++to) EXPECT_GT(hops(graph, routes, 0, to), 0u);
        }
    }
}

TEST(Routes, what_is_cut_off_is_unreachable_and_the_rest_is_not) {
    const Graph graph = made("leaf-spine:leaves=3,spines=2,hosts=2");
    std::vector<bool> node_down(graph.nodes.size());
    node_down[6] = true;  // leaf0, with h0 and h1
    for (const RouteKind kind : kKinds) {
        const Routes routes = Routes::compute(graph, kind, {}, node_down);
        EXPECT_TRUE(routes.ports(0, 1).empty());
        EXPECT_TRUE(routes.ports(0, 5).empty());
        EXPECT_TRUE(routes.ports(5, 0).empty());
        EXPECT_EQ(hops(graph, routes, 2, 5), 4u);
    }
}

TEST(Routes, up_down_finds_a_way_that_the_tiers_do_not_allow) {
    // leaf0 has only spine0 left, leaf2 only spine1: the one way is over leaf1, down and up again.
    const Graph graph = made("leaf-spine:leaves=3,spines=2,hosts=1");
    std::vector<bool> down(graph.cables.size());
    down[3 + 1] = true;  // leaf0 to spine1
    down[3 + 4] = true;  // leaf2 to spine0
    const Routes routes = Routes::compute(graph, RouteKind::up_down, down);
    EXPECT_EQ(hops(graph, routes, 0, 2), 6u);
    EXPECT_EQ(hops(graph, routes, 2, 0), 6u);
    EXPECT_FALSE(can_deadlock(graph, routes));
}

TEST(Routes, the_tree_of_layer_two_leaves_cables_idle) {
    const Graph graph = made("leaf-spine:leaves=4,spines=2,hosts=1");
    const Routes routes = Routes::compute(graph, RouteKind::spanning_tree);
    // Six switches need five of the eight cables.
    EXPECT_EQ(routes.idle_cables().size(), 3u);
    for (const uint32_t cable : routes.idle_cables())
        for (const auto end : {graph.cables[cable].a, graph.cables[cable].b})
            for (uint32_t to = 0; to < 4; ++to)
                EXPECT_EQ(std::ranges::count(routes.ports(end.node, to), end.port), 0);
    EXPECT_TRUE(Routes::compute(graph, RouteKind::shortest).idle_cables().empty());
}

TEST(Routes, a_host_with_two_cables_is_reached_and_sends_by_the_nearer_one) {
    const Graph graph = dual_homed();
    for (const RouteKind kind : {RouteKind::shortest, RouteKind::up_down}) {
        const Routes routes = Routes::compute(graph, kind);
        EXPECT_TRUE(std::ranges::equal(routes.ports(0, 1), std::vector<uint16_t>{0}));
        EXPECT_TRUE(std::ranges::equal(routes.ports(0, 2), std::vector<uint16_t>{1}));
        EXPECT_TRUE(std::ranges::equal(routes.ports(0, 3), std::vector<uint16_t>{0, 1}));
        EXPECT_TRUE(std::ranges::equal(routes.ports(6, 0), std::vector<uint16_t>{1, 2}));
        EXPECT_EQ(hops(graph, routes, 1, 0), 2u);
        EXPECT_EQ(hops(graph, routes, 1, 2), 4u);
    }
    std::vector<bool> down(graph.cables.size());
    down[0] = true;
    const Routes routes = Routes::compute(graph, RouteKind::shortest, down);
    EXPECT_EQ(hops(graph, routes, 1, 0), 4u);
    EXPECT_EQ(hops(graph, routes, 0, 1), 4u);
}

TEST(Routes, islands_have_small_tables_and_no_way_to_one_another) {
    const Graph graph = *topology::build(topology::Islands{.islands = 128, .hosts = 8});
    for (const RouteKind kind : kKinds) {
        const Routes routes = Routes::compute(graph, kind);
        EXPECT_LT(routes.memory_bytes(), 200'000u);
        EXPECT_EQ(hops(graph, routes, 8, 15), 2u);
        EXPECT_EQ(hops(graph, routes, 8, 16), 0u);
        EXPECT_TRUE(routes.ports(1024 + 1, 16).empty());
    }
}

TEST(Routes, tables_of_a_large_fat_tree_stay_small) {
    const Graph graph = made("fat-tree:k=32");
    ASSERT_EQ(graph.host_count(), 8192u);
    for (const RouteKind kind : {RouteKind::shortest, RouteKind::up_down}) {
        const Routes routes = Routes::compute(graph, kind);
        EXPECT_LT(routes.memory_bytes(), 2'000'000u);
        EXPECT_EQ(hops(graph, routes, 0, 8191), 6u);
        EXPECT_EQ(routes.ports(8192, 8191).size(), 16u);
    }
}

// By destination.

Routes by_destination(const Graph& graph, RouteKind kind = RouteKind::shortest,
                      const std::vector<bool>& cable_down = {}) {
    return Routes::compute(graph, kind, cable_down, {}, RouteSpread::by_destination);
}

// Cables that the flows of a shift cross, and how many cross the fullest of them in one direction.
size_t most_on_a_cable(const Graph& graph, const Routes& routes, uint32_t shift) {
    const Ports ports(graph);
    const std::vector<uint32_t> hosts = graph.endpoints();
    std::map<std::pair<uint32_t, uint16_t>, size_t> crossed;
    for (uint32_t from = 0; from < hosts.size(); ++from) {
        const auto to = static_cast<uint32_t>((from + shift) % hosts.size());
        for (uint32_t node = hosts[from]; node != hosts[to];) {
            const PortList list = routes.ports(node, to);
            EXPECT_EQ(list.size(), 1u);
            if (list.empty()) return 0;
            ++crossed[{node, list[0]}];
            node = ports.at({node, list[0]}).peer.node;
        }
    }
    size_t most = 0;
    for (const auto& [end, count] : crossed) most = std::max(most, count);
    return most;
}

TEST(ByDestination, there_is_one_port_and_it_leads_there) {
    for (const char* spec : kFabrics)
        for (const RouteKind kind : kKinds) {
            const Graph graph = made(spec);
            const Routes routes = by_destination(graph, kind);
            const Routes all = Routes::compute(graph, kind);
            const auto count = static_cast<uint32_t>(graph.host_count());
            for (uint32_t from = 0; from < count; ++from)
                for (uint32_t to = 0; to < count; ++to)
                    EXPECT_EQ(hops(graph, routes, from, to), hops(graph, all, from, to)) << spec;
        }
}

TEST(ByDestination, a_shift_permutation_meets_nowhere_on_a_tree) {
    for (const char* spec :
         {"fat-tree:k=4", "fat-tree:k=8", "fat-tree:k=8,tiers=2",
          "leaf-spine:leaves=4,spines=4,hosts=4", "leaf-spine:leaves=6,spines=2,hosts=4,cables=2",
          "leaf-spine:leaves=3,spines=4,hosts=8,cables=2"})
        for (const RouteKind kind : {RouteKind::shortest, RouteKind::up_down}) {
            const Graph graph = made(spec);
            const Routes routes = by_destination(graph, kind);
            for (uint32_t shift = 1; shift < graph.host_count(); ++shift)
                EXPECT_EQ(most_on_a_cable(graph, routes, shift), 1u) << spec << " " << shift;
        }
}

TEST(ByDestination, hosts_are_numbered_from_leaf_to_leaf_however_a_file_lists_them) {
    const Graph graph = made("rail:servers=4,rails=4,group=4,spines=4");
    const Routes routes = by_destination(graph);
    // A rail's leaf has one host of each server; the ways down to them are four different spines.
    std::set<uint16_t> ways;
    for (const uint32_t to : {0u, 4u, 8u, 12u})
        ways.insert(routes.ports(graph.endpoints().size() + 1, to)[0]);
    EXPECT_EQ(ways.size(), 4u);
}

TEST(ByDestination, a_tree_with_a_broken_cable_uses_the_others_evenly) {
    const Graph graph = made("fat-tree:k=8");
    const Ports ports(graph);
    std::vector<bool> down(graph.cables.size());
    const uint32_t leaf = 128;
    down[ports.at({leaf, 4}).cable] = true;
    const Routes routes = by_destination(graph, RouteKind::shortest, down);
    std::map<uint16_t, int> used;
    for (uint32_t to = 16; to < 112; ++to) ++used[routes.ports(leaf, to)[0]];
    EXPECT_EQ(used, (std::map<uint16_t, int>{{5, 32}, {6, 32}, {7, 32}}));
}

TEST(ByDestination, elsewhere_equal_ports_get_as_many_destinations_each) {
    Graph graph = made("leaf-spine:leaves=3,spines=4,hosts=5");
    graph.connect(15 + 3, 15 + 4);  // two spines: no tree any more
    ASSERT_FALSE(is_tree(graph));
    const Routes routes = by_destination(graph);
    for (uint32_t leaf = 15; leaf < 18; ++leaf) {
        std::vector<int> used(4);
        for (uint32_t to = 0; to < 15; ++to)
            if (to / 5 != leaf - 15) ++used[routes.ports(leaf, to)[0] - 5u];
        std::ranges::sort(used);
        EXPECT_EQ(used, (std::vector{2, 2, 3, 3}));
    }
}

TEST(ByDestination, trees_are_known_by_their_tiers) {
    for (const char* spec : {"fat-tree:k=4", "leaf-spine:leaves=4,spines=2,hosts=3,cables=2",
                             "rail:servers=4,rails=3,group=2", "star:5"})
        EXPECT_TRUE(is_tree(made(spec))) << spec;
    for (const char* spec : {"dragonfly:a=4,p=1,h=2", "torus:4x4", "ring:5", "pair",
                             "dragonfly+:leaves=2,spines=2,hosts=2,global=2"})
        EXPECT_FALSE(is_tree(made(spec))) << spec;
}

}  // namespace
}  // namespace tulle::fabric
