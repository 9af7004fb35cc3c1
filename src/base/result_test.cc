#include "base/result.h"

#include <gtest/gtest.h>

namespace tulle::base {
namespace {

Result<int> half(int n) {
    if (n % 2 != 0) return Error{"odd number; write an even one"};
    return n / 2;
}

TEST(Result, holds_the_value_when_all_is_well) {
    const Result<int> result = half(8);
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(*result, 4);
}

TEST(Result, holds_the_sentence_when_it_is_not) {
    const Result<int> result = half(7);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().message, "odd number; write an even one");
}

TEST(ResultDeathTest, asking_a_failure_for_its_value_is_our_mistake) {
    EXPECT_DEATH(half(7).value(), "internal error");
}

}  // namespace
}  // namespace tulle::base
