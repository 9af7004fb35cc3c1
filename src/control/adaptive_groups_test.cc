#include "control/adaptive_groups.h"

#include <gtest/gtest.h>

#include "control/distributed/testing.h"
#include "control/subnet/sweep.h"

namespace tulle::control {
namespace {

using namespace testing;

History swept(const topology::Graph& graph, const std::vector<Disturbance>& disturbances) {
    auto history = run_sweep(graph, delays_of(graph), SweepSettings{}, disturbances);
    EXPECT_TRUE(history.ok());
    add_adaptive_groups(graph, *history);
    return std::move(*history);
}

size_t group_size(History& history, uint32_t node, uint32_t target) {
    return history.lists.ports(history.tables.at(node, target)).size();
}

TEST(AdaptiveGroupsOfTables, have_all_ports_that_lead_on_in_as_few_hops) {
    const auto graph = graph_of("fat-tree:k=4");
    ASSERT_TRUE(has_tiers(graph));
    History history = swept(graph, {});
    const uint32_t leaf = topology::Ports(graph).at({graph.endpoints()[0], 0}).peer.node;
    EXPECT_EQ(group_size(history, leaf, 0), 1u) << "the host itself";
    EXPECT_EQ(group_size(history, leaf, 15), 2u) << "both ways up";
}

// The leaf at the dead link leaves it out at once; the others are told.
TEST(AdaptiveGroupsOfTables, lose_a_dead_link_when_the_manager_has_swept) {
    const auto graph = graph_of("leaf-spine:leaves=3,spines=3,hosts=2");
    const Instant at = Instant{} + kMillisecond;
    const History history =
        swept(graph, {{Kind::cable_down, at, cable_between(graph, "leaf0", "spine1")}});
    ASSERT_TRUE(history.repairs[0].is_repaired());
    EXPECT_GT(history.repairs[0].repaired, at);
    EXPECT_EQ(history.repairs[0].broken_pairs, 2u * 4) << "from the other leaves to this one";
    EXPECT_GT(history.repairs[0].writes, 0u);
}

TEST(AdaptiveGroupsOfTables, serve_everybody_whatever_broke_meanwhile) {
    for (uint64_t seed = 1; seed <= 30; ++seed) {
        const auto graph = graph_of("leaf-spine:leaves=4,spines=3,hosts=1");
        auto disturbances = random_disturbances(graph, seed);
        if (disturbances.empty()) continue;
        const History history = swept(graph, disturbances);
        // A manager that is cut off mends nothing.
        const Repair& last = history.repairs.back();
        const bool sees_all =
            last.cut_off.empty() || last.cut_off.front() != SweepSettings{}.manager;
        ASSERT_TRUE(!sees_all || last.unserved_pairs == 0) << "seed " << seed;
    }
}

TEST(AdaptiveGroupsOfTables, are_for_fabrics_with_tiers) {
    EXPECT_FALSE(has_tiers(graph_of("torus:4x4,hosts=1")));
    EXPECT_TRUE(has_tiers(graph_of("leaf-spine:leaves=3,spines=3,hosts=2")));
}

}  // namespace
}  // namespace tulle::control
