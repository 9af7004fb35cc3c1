#include "base/ring.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>

#include "base/random.h"

namespace tulle::base {
namespace {

TEST(Ring, rounds_its_capacity_up_to_a_power_of_two) {
    EXPECT_EQ(Ring<int>(1).capacity(), 1u);
    EXPECT_EQ(Ring<int>(5).capacity(), 8u);
    EXPECT_EQ(Ring<int>(8).capacity(), 8u);
}

TEST(Ring, behaves_like_a_deque_while_it_goes_round_many_times) {
    RandomStream random({.seed = 1});
    Ring<int> ring(8);
    std::deque<int> model;
    for (int i = 0; i < 10'000; ++i) {
        if (random.chance(1, 2) && !ring.full()) {
            ring.push_back(i);
            model.push_back(i);
        } else if (!ring.empty()) {
            ASSERT_EQ(ring.front(), model.front());
            ASSERT_EQ(ring.pop_front(), model.front());
            model.pop_front();
        }
        ASSERT_EQ(ring.size(), model.size());
        for (size_t k = 0; k < model.size(); ++k) ASSERT_EQ(ring[k], model[k]);
    }
}

TEST(Ring, grows_when_asked_and_keeps_the_order) {
    Ring<int> ring(4);
    ring.push_back(0);
    ring.pop_front();
    for (int i = 0; i < 4; ++i) ring.push_back(i);
    EXPECT_TRUE(ring.full());
    ring.grow();
    EXPECT_EQ(ring.capacity(), 8u);
    ring.push_back(4);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(ring.pop_front(), i);
}

TEST(Ring, holds_what_can_only_be_moved) {
    Ring<std::unique_ptr<int>> ring(2);
    ring.push_back(std::make_unique<int>(7));
    EXPECT_EQ(*ring.pop_front(), 7);
}

TEST(RingDeathTest, pushing_into_a_full_ring_is_our_mistake) {
    Ring<int> ring(1);
    ring.push_back(1);
    EXPECT_DEATH(ring.push_back(2), "internal error");
}

TEST(RingDeathTest, taking_from_an_empty_ring_is_our_mistake) {
    Ring<int> ring(1);
    EXPECT_DEATH(ring.front(), "internal error");
    EXPECT_DEATH(ring.pop_front(), "internal error");
}

TEST(RingDeathTest, reading_past_the_last_item_is_our_mistake) {
    Ring<int> ring(4);
    ring.push_back(1);
    EXPECT_DEATH(ring[1], "internal error");
}

}  // namespace
}  // namespace tulle::base
