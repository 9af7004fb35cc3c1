#include "drive/large_pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory_resource>
#include <vector>

namespace tulle::drive {
namespace {

constexpr uintptr_t kLargePage = 2 << 20;

TEST(LargePages, large_stores_begin_at_one) {
    LargePages pages;
    const size_t bytes = 3 * kLargePage + 100;
    auto* memory = static_cast<char*>(pages.allocate(bytes, 64));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % kLargePage, 0u);
    std::fill_n(memory, bytes, char{1});
    pages.deallocate(memory, bytes, 64);
}

TEST(LargePages, small_and_growing_stores_are_as_any_others) {
    LargePages pages;
    std::pmr::vector<uint64_t> numbers(&pages);
    for (uint64_t i = 0; i < kLargePage; ++i) numbers.push_back(i);
    for (uint64_t i = 0; i < kLargePage; ++i) ASSERT_EQ(numbers[i], i);
}

}  // namespace
}  // namespace tulle::drive
