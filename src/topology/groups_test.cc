#include "topology/groups.h"

#include <gtest/gtest.h>

#include "topology/builders.h"

namespace tulle::topology {
namespace {

TEST(Groups, of_a_dragonfly_are_found_and_hosts_belong_to_them) {
    const Graph graph = *build(Dragonfly{.a = 4, .p = 2, .h = 2});
    const auto groups = dragonfly_groups(graph);
    ASSERT_EQ(groups.size(), graph.nodes.size());
    EXPECT_EQ(*std::max_element(groups.begin(), groups.end()), 8u);
    for (uint32_t group = 0; group < 9; ++group)
        EXPECT_EQ(std::count(groups.begin(), groups.end(), group), 4 + 4 * 2);
    const std::vector<uint32_t> hosts = graph.endpoints();
    for (uint32_t i = 0; i < hosts.size(); ++i) EXPECT_EQ(groups[hosts[i]], i / 8);
}

TEST(Groups, other_fabrics_have_none) {
    EXPECT_TRUE(dragonfly_groups(*build(FatTree{4, 2, 1})).empty());
    EXPECT_TRUE(dragonfly_groups(*build(Torus{{4, 4}, 1})).empty());
    EXPECT_TRUE(dragonfly_groups(*build(Star{8})).empty());
    EXPECT_TRUE(dragonfly_groups(*build(LeafSpine{3, 2, 2, 1})).empty());
    EXPECT_TRUE(dragonfly_groups(*build(Ring{5, 1})).empty());
}

}  // namespace
}  // namespace tulle::topology
