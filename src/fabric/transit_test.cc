#include "fabric/transit.h"

#include <gtest/gtest.h>

#include <deque>

#include "base/random.h"

namespace tulle::fabric {
namespace {

TEST(Transit, store_gives_places_out_again) {
    TransitStore store;
    const uint32_t a = store.take();
    const uint32_t b = store.take();
    EXPECT_NE(a, b);
    EXPECT_EQ(store.live(), 2u);
    store.give_back(a);
    EXPECT_EQ(store.live(), 1u);
    EXPECT_EQ(store.take(), a);
}

TEST(Transit, store_that_grows_keeps_what_is_in_it) {
    constexpr uint32_t kMany = (1 << 20) + 10;  // more than the store begins with
    TransitStore store;
    for (uint32_t i = 0; i < kMany; ++i) {
        const uint32_t index = store.take();
        store[index].flow = i;
        store.packet(index).payload_length = i;
    }
    for (uint32_t i = 0; i < kMany; ++i) {
        ASSERT_EQ(store[i].flow, i);
        ASSERT_EQ(store.packet(i).payload_length, i);
    }
}

TEST(Transit, lists_keep_their_order_and_share_a_store) {
    TransitStore store;
    std::array<Fifo, 3> lists;
    std::array<std::deque<uint32_t>, 3> expected;
    base::RandomStream random({1, 2, 3});
    for (uint32_t i = 0; i < 10'000; ++i) {
        const size_t list = random.below(3);
        if (random.below(2) == 0 || expected[list].empty()) {
            const uint32_t index = store.take();
            lists[list].push(store, index);
            expected[list].push_back(index);
        } else {
            const uint32_t index = lists[list].pop(store);
            ASSERT_EQ(index, expected[list].front());
            expected[list].pop_front();
            store.give_back(index);
        }
        ASSERT_EQ(lists[list].empty(), expected[list].empty());
    }
    EXPECT_EQ(store.live(), expected[0].size() + expected[1].size() + expected[2].size());
}

}  // namespace
}  // namespace tulle::fabric
