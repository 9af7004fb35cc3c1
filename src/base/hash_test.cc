#include "base/hash.h"

#include <gtest/gtest.h>

#include <set>

namespace tulle::base {
namespace {

TEST(Hash, mix64_is_the_output_of_splitmix64) {
    const uint64_t seed = 1234567;  // first outputs of the published reference code
    EXPECT_EQ(mix64(seed + kGoldenRatio), 6457827717110365317u);
    EXPECT_EQ(mix64(seed + 2 * kGoldenRatio), 3203168211198807973u);
}

TEST(Hash, keeps_its_golden_value) {
    EXPECT_EQ(Hash().value(), 0u);
    EXPECT_EQ(Hash().add(1).add(2).add(3).value(), 15020427595393229491u);
}

TEST(Hash, depends_on_the_order_and_the_number_of_what_is_added) {
    const std::set<uint64_t> values{
        Hash().value(),
        Hash().add(0).value(),
        Hash().add(0).add(0).value(),
        Hash().add(1).add(2).value(),
        Hash().add(2).add(1).value(),
    };
    EXPECT_EQ(values.size(), 5u);
}

}  // namespace
}  // namespace tulle::base
