#include "cluster/wheel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/random.h"

namespace tulle::cluster {
namespace {

TEST(WindowWheel, an_empty_one_has_no_first_window) {
    EXPECT_EQ(WindowWheel().first(), WindowWheel::kNone);
}

TEST(WindowWheel, near_and_far_notes_of_one_window_are_taken_together) {
    WindowWheel wheel;
    wheel.add(1000, 1);  // far
    wheel.add(900, 2);
    std::vector<uint32_t> nodes;
    wheel.take(900, nodes);
    wheel.add(1000, 3);  // near by now
    EXPECT_EQ(wheel.first(), 1000u);
    wheel.take(1000, nodes);
    std::ranges::sort(nodes);
    EXPECT_EQ(nodes, (std::vector<uint32_t>{1, 3}));
    EXPECT_EQ(wheel.first(), WindowWheel::kNone);
}

TEST(WindowWheel, a_node_may_be_noted_for_the_window_that_was_taken) {
    WindowWheel wheel;
    wheel.add(5, 1);
    std::vector<uint32_t> nodes;
    wheel.take(5, nodes);
    wheel.add(5, 2);
    EXPECT_EQ(wheel.first(), 5u);
}

TEST(WindowWheel, windows_with_many_nodes_share_memory_and_nothing_else) {
    constexpr uint32_t kNodes = 1000;
    WindowWheel wheel;
    std::vector<uint32_t> nodes;
    for (uint32_t round = 0; round < 10; ++round) {
        for (uint32_t i = 0; i < kNodes; ++i) {
            wheel.add(2 * round, i);
            wheel.add(2 * round + 1, kNodes + i);
        }
        for (const uint32_t first : {0u, kNodes}) {
            wheel.take(wheel.first(), nodes);
            std::ranges::sort(nodes);
            ASSERT_EQ(nodes.size(), kNodes);
            for (uint32_t i = 0; i < kNodes; ++i) ASSERT_EQ(nodes[i], first + i);
        }
    }
    EXPECT_EQ(wheel.first(), WindowWheel::kNone);
}

TEST(WindowWheel, gives_every_note_back_in_the_order_of_windows) {
    base::RandomStream random({11, 0, 0});
    WindowWheel wheel;
    std::map<uint64_t, std::multiset<uint32_t>> expected;
    uint64_t now = 0;
    std::vector<uint32_t> nodes;
    for (int i = 0; i < 20'000; ++i) {
        const uint64_t window = now + random.below(random.below(10) == 0 ? 5000 : 300);
        const auto node = static_cast<uint32_t>(random.below(100));
        wheel.add(window, node);
        expected[window].insert(node);
        if (random.below(3) == 0) continue;
        ASSERT_EQ(wheel.first(), expected.begin()->first);
        now = wheel.first();
        wheel.take(now, nodes);
        ASSERT_EQ(std::multiset<uint32_t>(nodes.begin(), nodes.end()), expected.begin()->second);
        expected.erase(expected.begin());
    }
}

}  // namespace
}  // namespace tulle::cluster
