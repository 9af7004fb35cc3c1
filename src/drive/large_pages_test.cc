#include "drive/large_pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <memory_resource>
#include <sstream>
#include <string>
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

// Whether the kernel was advised to use large pages where this is.
bool is_advised(const void* memory) {
    std::ifstream maps("/proc/self/smaps");
    std::string line;
    bool is_here = false;
    while (std::getline(maps, line)) {
        unsigned long begin = 0, end = 0;
        char dash = 0;
        std::istringstream words(line);
        if (words >> std::hex >> begin >> dash >> end && dash == '-')
            is_here = std::less_equal<>()(reinterpret_cast<const void*>(begin), memory) &&
                      std::less<>()(memory, reinterpret_cast<const void*>(end));
        if (is_here && line.starts_with("VmFlags:")) return line.find(" hg") != std::string::npos;
    }
    return false;
}

TEST(LargePages, small_objects_lie_on_them_too) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer has a heap of its own";
#endif
    if (!std::filesystem::exists("/sys/kernel/mm/transparent_hugepage"))
        GTEST_SKIP() << "this kernel has no large pages";
    put_heap_on_large_pages();
    std::vector<std::unique_ptr<std::array<char, 1000>>> objects;
    for (int i = 0; i < 10'000; ++i) objects.push_back(std::make_unique<std::array<char, 1000>>());
    EXPECT_TRUE(is_advised(objects.back().get()));
}

}  // namespace
}  // namespace tulle::drive
