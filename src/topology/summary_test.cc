#include "topology/summary.h"

#include <gtest/gtest.h>

#include "topology/builders.h"
#include "topology/max_flow.h"
#include "topology/spec.h"

namespace tulle::topology {
namespace {

Summary of(const char* spec) {
    return summarise(*build_spec(spec));
}

TEST(Summary, counts_a_fat_tree) {
    const Summary summary = of("fat-tree:k=8");
    EXPECT_EQ(summary.hosts, 128u);
    EXPECT_EQ(summary.servers, 128u);
    EXPECT_EQ(summary.switches_of_tier, (std::vector<uint64_t>{32, 32, 16}));
    EXPECT_EQ(summary.cables, 384u);
    EXPECT_EQ(summary.host_cables, 128u);
    EXPECT_EQ(summary.diameter, 6u);
    EXPECT_EQ(summary.bisection_cables, 64u);
    EXPECT_EQ(summary.oversubscription_numerator, 1u);
    EXPECT_EQ(summary.oversubscription_denominator, 1u);
    EXPECT_FALSE(summary.bisection_bps);
}

TEST(Summary, the_diameter_is_known_for_each_kind) {
    EXPECT_EQ(of("pair").diameter, 1u);
    EXPECT_EQ(of("star:4").diameter, 2u);
    EXPECT_EQ(of("line:5").diameter, 6u);
    EXPECT_EQ(of("ring:6").diameter, 5u);
    EXPECT_EQ(of("torus:4x4x4").diameter, 8u);
    EXPECT_EQ(of("dragonfly:a=4,p=2,h=2").diameter, 5u);
    EXPECT_EQ(of("leaf-spine:leaves=4,spines=2,hosts=2").diameter, 4u);
}

TEST(Summary, the_cut_between_the_halves_is_the_narrowest) {
    EXPECT_EQ(of("pair").bisection_cables, 1u);
    EXPECT_EQ(of("star:6").bisection_cables, 3u);
    EXPECT_EQ(of("line:4,hosts=3").bisection_cables, 1u);
    EXPECT_EQ(of("ring:4,hosts=3").bisection_cables, 2u);
    EXPECT_EQ(of("torus:4x4,hosts=8").bisection_cables, 8u);
    EXPECT_EQ(of("leaf-spine:leaves=2,spines=2,hosts=16,cables=3").bisection_cables, 6u);
}

TEST(Summary, oversubscription_is_what_hosts_send_over_what_crosses) {
    const Summary tree = of("fat-tree:k=8,oversubscription=4");
    EXPECT_EQ(tree.oversubscription_numerator, 4u);
    EXPECT_EQ(tree.oversubscription_denominator, 1u);
    const Summary line = of("line:2,hosts=3");
    EXPECT_EQ(line.oversubscription_numerator, 3u);
}

TEST(Summary, rates_count_where_all_are_known) {
    Graph graph = *build(Line{.switches = 2, .hosts = 4});
    for (Cable& cable : graph.cables) cable.rate_bps = 100;
    graph.cables.back().rate_bps = 400;
    const Summary summary = summarise(graph);
    EXPECT_EQ(summary.bisection_cables, 1u);
    EXPECT_EQ(summary.bisection_bps, 400u);
    EXPECT_EQ(summary.oversubscription_numerator, 1u);
}

TEST(MaxFlow, takes_back_what_was_sent_the_wrong_way) {
    //   0 - 2 - 3 - 1 is the shortest path through the middle; the best two paths cross there.
    MaxFlow flow(6);
    flow.connect(0, 2, 1);
    flow.connect(0, 4, 1);
    flow.connect(2, 3, 1);
    flow.connect(4, 3, 1);
    flow.connect(2, 5, 1);
    flow.connect(3, 1, 1);
    flow.connect(5, 1, 1);
    EXPECT_EQ(flow.between(0, 1), 2u);
}

}  // namespace
}  // namespace tulle::topology
