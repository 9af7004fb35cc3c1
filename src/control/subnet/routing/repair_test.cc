#include "control/subnet/routing/repair.h"

#include <gtest/gtest.h>

#include "control/subnet/check/credit_loops.h"
#include "control/subnet/check/reach.h"
#include "control/subnet/routing/lanes.h"
#include "control/subnet/testing.h"

namespace tulle::control {
namespace {

using testing::graph_of;
using testing::subnet_of;

// Whether each path that counts takes links of rising layers. Layers that are not known prove
// nothing.
bool layers_rise(const Subnet& subnet, const Routing& routing) {
    bool rise = true;
    for (uint32_t lid = 0; lid < subnet.lid_end() && !routing.lanes.layers.empty(); ++lid)
        for (uint32_t s = 0; s < subnet.switch_count() && subnet.place(lid).home != kNone; ++s) {
            if (!path_counts(subnet, s, lid)) continue;
            const LinkLayers& layers =
                routing.lanes.layers[routing.lanes.service_level(s, lid, subnet.switch_count())];
            const auto layer = [&](uint32_t link) {
                return layers[subnet.port_index(subnet.link(link).from, subnet.link(link).port)];
            };
            for_each_dependency(subnet, routing.tables, lid, s,
                                [&](uint32_t in, uint32_t out) { rise &= layer(in) < layer(out); });
        }
    return rise;
}

void expect_sound(const Subnet& subnet, const Routing& routing, const std::string& where) {
    const Reach reach = check_reach(subnet, routing.tables);
    EXPECT_TRUE(reach.is_whole()) << where << ": " << reach.lost_host_pairs << " "
                                  << reach.looping_host_pairs << " " << reach.lost_other << " "
                                  << reach.looping_other;
    if (!routing.is_deadlock_free || !reach.is_whole()) return;
    EXPECT_FALSE(find_credit_loop(subnet, routing.tables, routing.lanes)) << where;
    EXPECT_TRUE(layers_rise(subnet, routing)) << where;
}

// Breaks cables one after the other, and repairs after each.
void break_and_repair(const topology::Graph& graph, const RoutingEngine& engine, uint64_t seed,
                      int times, const std::string& where) {
    auto random = testing::stream_of(seed, 3);
    std::vector<bool> down(graph.cables.size());
    Subnet before = subnet_of(graph, down);
    Routing routing = engine.route(before, {});
    for (int i = 0; i < times; ++i) {
        down[random.below(graph.cables.size())] = true;
        Subnet after = subnet_of(graph, down);
        Repaired repaired = repair(before, after, engine, {}, routing);
        expect_sound(after, repaired.routing,
                     where + ", " + std::string(engine.name) + ", cable " + std::to_string(i));
        before = std::move(after);
        routing = std::move(repaired.routing);
    }
}

TEST(repair, keeps_every_fabric_joined_while_cables_break) {
    for (const char* const fabric :
         {"fat-tree:k=4", "fat-tree:k=8", "fat-tree:k=8,tiers=2", "dragonfly:a=4,p=2,h=2",
          "dragonfly+:leaves=3,spines=3,hosts=2,global=2", "torus:6x5", "torus:3x3x3", "ring:8"})
        for (const RoutingEngine& engine : routing_engines())
            for (uint64_t seed = 0; seed < 2; ++seed)
                break_and_repair(graph_of(fabric), engine, seed, 8,
                                 fabric + std::string(", seed ") + std::to_string(seed));
}

TEST(repair, keeps_three_hundred_random_graphs_joined_while_cables_break) {
    for (uint64_t seed = 0; seed < 300; ++seed)
        for (const RoutingEngine& engine : routing_engines())
            break_and_repair(testing::random_graph(seed), engine, seed, 4,
                             "random graph " + std::to_string(seed));
}

TEST(repair, leaves_alone_what_no_broken_cable_concerns) {
    const topology::Graph graph = graph_of("fat-tree:k=8");
    const Subnet before = subnet_of(graph);
    std::vector<bool> down(graph.cables.size());
    uint32_t cable = 0;  // the first between a leaf and a spine
    while (graph.nodes[graph.cables[cable].a.node].is_host()) ++cable;
    down[cable] = true;
    const Subnet after = subnet_of(graph, down);
    for (const char* const name : {"min-hop", "up-down", "fat-tree", "dfsssp"}) {
        const RoutingEngine& engine = *routing_engine_named(name);
        const Routing routing = engine.route(before, {});
        const Repaired repaired = repair(before, after, engine, {}, routing);
        EXPECT_FALSE(repaired.is_new) << name;
        for (uint32_t lid = 1; lid < before.lid_end(); ++lid) {
            bool is_concerned = false;
            for (uint32_t id = 0; id < before.link_count(); ++id)
                is_concerned |=
                    before.link(id).cable == cable &&
                    routing.tables.port(before.link(id).from, lid) == before.link(id).port;
            const auto was = routing.tables.row(lid);
            const auto is = repaired.routing.tables.row(lid);
            EXPECT_TRUE(is_concerned || std::equal(was.begin(), was.end(), is.begin())) << name;
        }
        // A leaf that lost one of four ways up sends a quarter of the others' LIDs elsewhere; few
        // switches change, and few entries of them.
        EXPECT_LT(repaired.changed_entries, 400u) << name;
        EXPECT_LT(repaired.changed_switches, 60u) << name;
    }
}

TEST(repair, moves_a_path_that_would_close_a_credit_loop_to_another_lane) {
    const Subnet ring = subnet_of("ring:6");
    const Routing routing = routing_engine_named("dfsssp")->route(ring, {});
    ASSERT_EQ(routing.lanes.count, 2);
    ASSERT_EQ(routing.lanes.layers.size(), 2u);
    // All paths go the same way round, so no lane takes all of them.
    Routing changed = routing;
    std::vector<uint32_t> lids;
    for (uint32_t lid = 1; lid < ring.lid_end(); ++lid) {
        lids.push_back(lid);
        for (uint32_t s = 0; s < ring.switch_count(); ++s)
            for (const Subnet::Link& link : ring.links_of(s))
                if (s != ring.place(lid).home && link.to == (s + 1) % ring.switch_count())
                    changed.tables.set(s, lid, link.port);
    }
    ASSERT_TRUE(check_reach(ring, changed.tables).is_whole());
    ASSERT_FALSE(layers_rise(ring, changed));
    ASSERT_TRUE(update_lanes(ring, changed.tables, lids, 8, changed.lanes));
    expect_sound(ring, changed, "ring");
    EXPECT_EQ(changed.lanes.layers.size(), changed.lanes.count);
    Lanes two = routing.lanes;
    EXPECT_FALSE(update_lanes(ring, changed.tables, lids, 2, two)) << "three lanes are needed";
    two.layers.clear();
    EXPECT_FALSE(update_lanes(ring, changed.tables, lids, 8, two)) << "layers are not known";
}

TEST(repair, moves_few_paths_of_a_full_tree_to_a_second_lane) {
    const topology::Graph graph = graph_of("fat-tree:k=8");
    const Subnet before = subnet_of(graph);
    std::vector<bool> down(graph.cables.size());
    uint32_t cable = 0;
    while (graph.nodes[graph.cables[cable].a.node].is_host()) ++cable;
    down[cable] = true;
    const Subnet after = subnet_of(graph, down);
    const RoutingEngine& engine = *routing_engine_named("dfsssp");
    const Routing routing = engine.route(before, {});
    EXPECT_EQ(routing.lanes.count, 1);
    const Repaired repaired = repair(before, after, engine, {}, routing);
    EXPECT_EQ(repaired.routing.lanes.layers.size(), repaired.routing.lanes.count);
    const auto& levels = repaired.routing.lanes.service_levels;
    const auto moved =
        static_cast<size_t>(std::ranges::count_if(levels, [](uint8_t each) { return each > 0; }));
    EXPECT_LT(moved, 400u) << "paths that go down and up again, of " << levels.size();
    expect_sound(after, repaired.routing, "fat tree");
}

TEST(repair, changes_nothing_where_nothing_broke) {
    const Subnet subnet = subnet_of("dragonfly:a=4,p=2,h=2");
    const RoutingEngine& engine = *routing_engine_named("dfsssp");
    const Repaired repaired = repair(subnet, subnet, engine, {}, engine.route(subnet, {}));
    EXPECT_FALSE(repaired.is_new);
    EXPECT_EQ(repaired.changed_entries, 0u);
}

}  // namespace
}  // namespace tulle::control
