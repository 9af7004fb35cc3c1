#include "base/guarded_copy.h"

#include <gtest/gtest.h>

#include <cstring>

namespace tulle::base {
namespace {

// Ten bytes of foreign memory: `shadow` stands for `real`.
std::byte shadow[10];
std::byte real[10];
bool is_there = true;

bool has(const void* address) noexcept {
    return address >= shadow && address < shadow + sizeof shadow;
}
bool copy(void* to, const void* from, size_t bytes) noexcept {
    void* target = has(to) ? real + (static_cast<std::byte*>(to) - shadow) : to;
    const void* source = has(from) ? real + (static_cast<const std::byte*>(from) - shadow) : from;
    if (is_there) std::memmove(target, source, bytes);
    return is_there;
}
bool allows(const void*, size_t, bool) noexcept {
    return is_there;
}
constexpr ForeignMemory kForeign{has, copy, allows};

class GuardedCopyTest : public testing::Test {
protected:
    GuardedCopyTest() { foreign_memory.store(&kForeign); }
    ~GuardedCopyTest() override { foreign_memory.store(nullptr); }
};

TEST_F(GuardedCopyTest, memory_of_others_is_reached_by_those_who_know_how) {
    const char text[] = "abcdefghi";
    EXPECT_TRUE(guarded_copy(shadow, text, sizeof text));
    EXPECT_EQ(std::memcmp(real, text, sizeof text), 0);
    EXPECT_EQ(shadow[0], std::byte{});
    char back[4] = {};
    EXPECT_TRUE(guarded_copy(back, shadow + 2, 3));
    EXPECT_STREQ(back, "cde");
}

TEST_F(GuardedCopyTest, memory_that_others_do_not_have_any_more_is_not_copied) {
    is_there = false;
    char back[4] = {};
    EXPECT_FALSE(guarded_copy(back, shadow, 3));
    EXPECT_FALSE(is_readable_now(shadow, 3));
    EXPECT_TRUE(is_readable_now(back, 3));
    is_there = true;
}

TEST_F(GuardedCopyTest, what_is_our_own_is_copied_as_usual) {
    const char text[] = "abc";
    char own[4] = {};
    EXPECT_TRUE(guarded_copy(own, text, sizeof text));
    EXPECT_STREQ(own, "abc");
    EXPECT_FALSE(is_foreign(own));
    EXPECT_TRUE(is_foreign(shadow + 9));
}

}  // namespace
}  // namespace tulle::base
