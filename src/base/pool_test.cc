#include "base/pool.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/random.h"

namespace tulle::base {
namespace {

TEST(Pool, gives_back_what_was_put_in) {
    Pool<std::string> pool;
    const auto a = pool.acquire("a");
    const auto b = pool.acquire("b");
    EXPECT_EQ(pool[a], "a");
    EXPECT_EQ(pool[b], "b");
    pool[a] += "!";
    EXPECT_EQ(std::as_const(pool)[a], "a!");
}

TEST(Pool, counts_the_objects_that_are_alive) {
    Pool<int> pool;
    EXPECT_EQ(pool.live(), 0u);
    const auto a = pool.acquire();
    const auto b = pool.acquire();
    EXPECT_EQ(pool.live(), 2u);
    pool.release(a);
    pool.release(b);
    EXPECT_EQ(pool.live(), 0u);
}

TEST(Pool, does_not_move_objects_when_it_grows) {
    Pool<int> pool;
    const auto first = pool.acquire(1);
    const int* address = &pool[first];
    for (int i = 0; i < 10'000; ++i) pool.acquire(i);
    EXPECT_EQ(&pool[first], address);
    EXPECT_EQ(pool[first], 1);
}

TEST(Pool, stops_growing_once_it_is_warm) {
    Pool<int> pool;
    std::vector<Pool<int>::Handle> handles;
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 1'000; ++i) handles.push_back(pool.acquire());
        while (!handles.empty()) {
            pool.release(handles.back());
            handles.pop_back();
        }
        EXPECT_EQ(pool.capacity(), 1'024u);
    }
}

TEST(Pool, agrees_with_a_map_under_random_use) {
    RandomStream random({.seed = 1});
    Pool<uint64_t> pool;
    std::map<uint32_t, uint64_t> model;
    for (uint64_t i = 0; i < 100'000; ++i) {
        if (model.size() < 2'000 && random.chance(1, 2)) {
            ASSERT_TRUE(model.emplace(pool.acquire(i).bits, i).second);
        } else if (!model.empty()) {
            auto item = model.lower_bound(static_cast<uint32_t>(random.next()));
            if (item == model.end()) item = model.begin();
            ASSERT_EQ(pool[{item->first}], item->second);
            pool.release({item->first});
            model.erase(item);
        }
        ASSERT_EQ(pool.live(), model.size());
    }
}

TEST(Pool, knows_a_stale_handle_though_its_place_is_in_use_again) {
    Pool<int> pool;
    const auto old = pool.acquire();
    pool.release(old);
    EXPECT_FALSE(pool.holds(old));
    const auto current = pool.acquire();
    EXPECT_TRUE(pool.holds(current));
    EXPECT_FALSE(pool.holds(old));
}

TEST(Pool, does_not_hold_the_empty_handle) {
    Pool<int> pool;
    EXPECT_FALSE(pool.holds({}));
    pool.acquire();
    EXPECT_FALSE(pool.holds({}));
}

TEST(PoolDeathTest, using_or_releasing_a_released_object_is_our_mistake) {
    Pool<int> pool;
    const auto handle = pool.acquire();
    pool.release(handle);
    EXPECT_DEATH(pool[handle], "internal error");
    EXPECT_DEATH(pool.release(handle), "internal error");
}

}  // namespace
}  // namespace tulle::base
