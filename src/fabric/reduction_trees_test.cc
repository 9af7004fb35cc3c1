#include "fabric/reduction_trees.h"

#include <gtest/gtest.h>

#include <set>

#include "topology/spec.h"

namespace tulle::fabric {
namespace {

using Limits = ReductionTrees::Limits;

constexpr Limits kNoLimits{};

std::vector<uint32_t> hosts_of(const topology::Graph& graph, uint32_t first, uint32_t count) {
    const std::vector<uint32_t> all = graph.endpoints();
    return {all.begin() + first, all.begin() + first + count};
}

TEST(ReductionTrees, of_hosts_on_one_switch_is_that_switch) {
    const topology::Graph graph = *topology::build_spec("leaf-spine:leaves=2,spines=2,hosts=4");
    ReductionTrees trees(graph, kNoLimits);
    const auto tree = trees.take(hosts_of(graph, 0, 4), false);
    ASSERT_TRUE(tree);
    EXPECT_TRUE(tree->links.empty());
    EXPECT_EQ(graph.nodes[tree->root].name, "leaf0");
}

TEST(ReductionTrees, joins_all_leaves_at_a_common_root_by_cables_that_exist) {
    for (const char* spec :
         {"leaf-spine:leaves=4,spines=2,hosts=4", "fat-tree:k=4", "dragonfly:a=2,p=2,h=1"}) {
        const topology::Graph graph = *topology::build_spec(spec);
        const topology::Ports ports(graph);
        ReductionTrees trees(graph, kNoLimits);
        const auto hosts = graph.endpoints();
        const auto tree = trees.take(hosts, false);
        ASSERT_TRUE(tree) << spec;
        for (const ReductionTree::Link& link : tree->links)
            EXPECT_EQ(ports.at({link.child, link.up}).peer,
                      (topology::CableEnd{link.parent, link.down}));
        for (const uint32_t host : hosts) {
            uint32_t at = ports.at({host, 0}).peer.node;
            std::set<uint32_t> seen;
            while (const ReductionTree::Link* link = tree->above(at)) {
                ASSERT_TRUE(seen.insert(at).second) << "a circle";
                at = link->parent;
            }
            EXPECT_EQ(at, tree->root) << spec;
        }
    }
}

TEST(ReductionTrees, take_turns_at_roots) {
    const topology::Graph graph = *topology::build_spec("leaf-spine:leaves=4,spines=2,hosts=4");
    ReductionTrees trees(graph, kNoLimits);
    const auto hosts = graph.endpoints();
    EXPECT_NE(trees.take(hosts, false)->root, trees.take(hosts, false)->root);
}

TEST(ReductionTrees, are_as_many_as_a_switch_has_room_for) {
    const topology::Graph graph = *topology::build_spec("leaf-spine:leaves=2,spines=4,hosts=4");
    ReductionTrees trees(graph, {.trees = 2, .streams = 0});
    const auto hosts = graph.endpoints();
    EXPECT_TRUE(trees.take(hosts, false));
    EXPECT_TRUE(trees.take(hosts, false));
    EXPECT_FALSE(trees.take(hosts, false)) << "both leaves are in two trees";
    EXPECT_FALSE(trees.take(hosts_of(graph, 0, 2), false));
}

// The two jobs share leaves, but no port of a host, and take different spines.
TEST(ReductionTrees, that_stream_share_no_port) {
    const topology::Graph graph = *topology::build_spec("leaf-spine:leaves=2,spines=2,hosts=4");
    ReductionTrees trees(graph, {.trees = 0, .streams = 1});
    const std::vector<uint32_t> all = graph.endpoints();
    const std::vector<uint32_t> some{all[0], all[1], all[4], all[5]};
    const std::vector<uint32_t> others{all[2], all[3], all[6], all[7]};
    const auto first = trees.take(some, true);
    const auto second = trees.take(others, true);
    ASSERT_TRUE(first && second);
    EXPECT_NE(first->root, second->root);
    EXPECT_FALSE(trees.take(others, true)) << "their own ports carry a stream";
    EXPECT_TRUE(trees.take(others, false)) << "a tree for small messages is not hindered";
}

}  // namespace
}  // namespace tulle::fabric
