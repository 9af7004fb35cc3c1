#include "workload/collectives/algorithms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "workload/testing.h"

namespace tulle::workload {
namespace {

using testing::servers;

TEST(ring_order, hops_between_servers_stay_on_one_rail_and_channels_take_different_ones) {
    for (const uint32_t count : {2u, 3u, 4u, 5u, 16u, 17u}) {
        const Placement placement = servers(count, 8);
        std::vector<uint32_t> hops_on(8);
        for (uint32_t channel = 0; channel < 8; ++channel) {
            const std::vector<uint32_t> order = ring_order(placement, channel);
            std::vector<uint32_t> sorted = order;
            std::sort(sorted.begin(), sorted.end());
            for (uint32_t i = 0; i < sorted.size(); ++i) ASSERT_EQ(sorted[i], i);
            uint32_t hops = 0;
            for (size_t i = 0; i < order.size(); ++i) {
                const uint32_t from = order[i];
                const uint32_t to = order[(i + 1) % order.size()];
                if (placement.server_of(from) == placement.server_of(to)) continue;
                EXPECT_EQ(from % 8, to % 8) << count << " servers, channel " << channel;
                ++hops;
                ++hops_on[from % 8];
            }
            EXPECT_EQ(hops, count);
        }
        for (const uint32_t hops : hops_on) EXPECT_EQ(hops, count);
    }
}

std::vector<uint32_t> children_of(const std::vector<uint32_t>& parents) {
    std::vector<uint32_t> children(parents.size());
    for (uint32_t node = 0; node < parents.size(); ++node)
        if (parents[node] != node) ++children[parents[node]];
    return children;
}

uint32_t depth_of(const std::vector<uint32_t>& parents) {
    uint32_t most = 0;
    for (uint32_t node = 0; node < parents.size(); ++node) {
        uint32_t depth = 0;
        for (uint32_t up = node; parents[up] != up; up = parents[up]) ++depth;
        most = std::max(most, depth);
    }
    return most;
}

TEST(binary_trees, have_one_root_two_children_at_most_and_logarithmic_depth) {
    for (uint32_t count = 1; count <= 130; ++count)
        for (const auto& parents : {binary_tree(count), complementary_tree(count)}) {
            uint32_t roots = 0;
            for (uint32_t node = 0; node < count; ++node) roots += parents[node] == node;
            EXPECT_EQ(roots, 1u);
            for (const uint32_t children : children_of(parents)) EXPECT_LE(children, 2u);
            EXPECT_LE(uint64_t{1} << depth_of(parents), 2 * uint64_t{count});
        }
}

TEST(binary_trees, whoever_is_inside_one_is_a_leaf_of_the_other_where_the_number_is_even) {
    for (uint32_t count = 2; count <= 64; count += 2) {
        const auto one = children_of(binary_tree(count));
        const auto other = children_of(complementary_tree(count));
        for (uint32_t node = 0; node < count; ++node)
            EXPECT_TRUE(one[node] == 0 || other[node] == 0) << node << " of " << count;
    }
}

}  // namespace
}  // namespace tulle::workload
