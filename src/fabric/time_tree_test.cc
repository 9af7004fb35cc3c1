#include "fabric/time_tree.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"

namespace tulle::fabric {
namespace {

using base::Instant;

TEST(TimeTree, nothing_happens_in_an_empty_one) {
    EXPECT_EQ(TimeTree(5).first_at(), Instant::never());
}

TEST(TimeTree, at_one_instant_sources_come_by_their_numbers) {
    TimeTree tree(8);
    for (const uint32_t source : {5u, 2u, 7u}) tree.set(source, {100});
    for (const uint32_t source : {2u, 5u, 7u}) {
        EXPECT_EQ(tree.first_source(), source);
        tree.clear(source);
    }
}

TEST(TimeTree, the_horizon_and_all_behind_it_is_never) {
    TimeTree tree(1);
    tree.set(0, TimeTree::kHorizon);
    EXPECT_EQ(tree.first_at(), Instant::never());
    tree.set(0, Instant::never());
    EXPECT_EQ(tree.first_at(), Instant::never());
    tree.set(0, {TimeTree::kHorizon.ps - 1});
    EXPECT_EQ(tree.first_at().ps, TimeTree::kHorizon.ps - 1);
}

TEST(TimeTree, finds_the_first_of_any_number_of_sources) {
    base::RandomStream random({7, 0, 0});
    for (const uint32_t sources : {1u, 2u, 3u, 64u, 65u, 8192u}) {
        TimeTree tree(sources);
        std::vector<Instant> at(sources, Instant::never());
        for (int i = 0; i < 2000; ++i) {
            const auto source = static_cast<uint32_t>(random.below(sources));
            at[source] = random.below(4) == 0 ? Instant::never()
                                              : Instant{static_cast<int64_t>(random.below(50))};
            tree.set(source, at[source]);
            const auto first = std::ranges::min_element(at);
            ASSERT_EQ(tree.first_at(), *first);
            if (*first == Instant::never()) continue;
            ASSERT_EQ(tree.first_source(), static_cast<uint32_t>(first - at.begin()));
        }
    }
}

}  // namespace
}  // namespace tulle::fabric
