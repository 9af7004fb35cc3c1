#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

namespace tulle::base {
namespace {

std::vector<uint64_t> draw(RandomStream stream, int count) {
    std::vector<uint64_t> draws;
    for (int i = 0; i < count; ++i) draws.push_back(stream.next());
    return draws;
}

TEST(RandomStream, keeps_its_golden_values) {
    const std::vector<uint64_t> golden{14585400150120891368u, 14442465275195754498u,
                                       2653354733060404283u};
    EXPECT_EQ(draw(RandomStream({.seed = 1, .kind = 2, .index = 3}), 3), golden);
}

TEST(RandomStream, is_the_same_whenever_it_is_made) {
    RandomStream seven({.seed = 1, .kind = 2, .index = 7});
    const uint64_t first = seven.next();
    RandomStream({.seed = 1, .kind = 2, .index = 8}).next();
    const uint64_t second = seven.next();
    EXPECT_EQ(draw(RandomStream({.seed = 1, .kind = 2, .index = 7}), 2),
              (std::vector{first, second}));
}

TEST(RandomStream, differs_by_seed_by_kind_and_by_index) {
    std::set<uint64_t> firsts;
    for (uint64_t seed = 0; seed < 20; ++seed)
        for (uint32_t kind = 0; kind < 20; ++kind)
            for (uint64_t index = 0; index < 20; ++index)
                firsts.insert(RandomStream({seed, kind, index}).next());
    EXPECT_EQ(firsts.size(), 20u * 20 * 20);
}

TEST(RandomStream, sets_every_bit_half_of_the_time) {
    RandomStream stream({.seed = 5});
    std::vector<int> ones(64);
    for (int i = 0; i < 100'000; ++i)
        for (uint64_t bits = stream.next(), bit = 0; bit < 64; ++bit) ones[bit] += bits >> bit & 1;
    for (int count : ones) EXPECT_NEAR(count, 50'000, 1'000);  // six standard deviations
}

TEST(RandomStream, neighbouring_streams_are_not_correlated) {
    int equal_bits = 0;
    for (uint64_t index = 0; index < 10'000; ++index) {
        const uint64_t a = RandomStream({.index = index}).next();
        const uint64_t b = RandomStream({.index = index + 1}).next();
        equal_bits += std::popcount(~(a ^ b));
    }
    EXPECT_NEAR(equal_bits, 320'000, 3'000);  // more than seven standard deviations
}

TEST(RandomStream, below_reaches_every_number_equally_often) {
    RandomStream stream({.seed = 6});
    std::vector<int> counts(10);
    for (int i = 0; i < 100'000; ++i) ++counts.at(stream.below(10));
    for (int count : counts) EXPECT_NEAR(count, 10'000, 600);
}

TEST(RandomStream, below_is_not_biased_for_a_bound_that_does_not_divide_2_to_64) {
    RandomStream stream({.seed = 7});
    const uint64_t bound =
        3ull << 62;  // a plain remainder would draw the lower third half of the time
    int lower_third = 0;
    for (int i = 0; i < 30'000; ++i) lower_third += stream.below(bound) < bound / 3;
    EXPECT_NEAR(lower_third, 10'000, 500);
}

TEST(RandomStream, chance_is_exact_at_its_ends_and_close_between) {
    RandomStream stream({.seed = 8});
    int hits = 0;
    for (int i = 0; i < 100'000; ++i) {
        EXPECT_FALSE(stream.chance(0, 1'000));
        EXPECT_TRUE(stream.chance(1'000, 1'000));
        hits += stream.chance(1, 1'000);
    }
    EXPECT_NEAR(hits, 100, 60);
}

TEST(RandomStream, shuffle_keeps_the_items_and_moves_each_to_every_place) {
    RandomStream stream({.seed = 9});
    std::vector<int> first_places(5);
    for (int i = 0; i < 10'000; ++i) {
        std::vector<int> items(5);
        std::iota(items.begin(), items.end(), 0);
        stream.shuffle(std::span(items));
        ++first_places[items.front()];
        std::sort(items.begin(), items.end());
        EXPECT_EQ(items, (std::vector{0, 1, 2, 3, 4}));
    }
    for (int count : first_places) EXPECT_NEAR(count, 2'000, 240);
}

TEST(RandomStreamDeathTest, a_draw_below_zero_is_our_mistake) {
    RandomStream stream({.seed = 1});
    EXPECT_DEATH(stream.below(0), "internal error");
}

}  // namespace
}  // namespace tulle::base
