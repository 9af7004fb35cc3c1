#include "topology/quantities.h"

#include <gtest/gtest.h>

namespace tulle::topology {
namespace {

TEST(Quantities, rates_read_back_as_they_were_written) {
    for (const char* written : {"100Gbps", "2.5Gbps", "54.545Mbps", "999Mbps", "54545454545bps"})
        EXPECT_EQ(rate_text(*parse_rate_bps(written)), written);
    EXPECT_EQ(*parse_rate_bps("400Gb/s"), 400'000'000'000u);
    EXPECT_FALSE(parse_rate_bps("0Gbps"));
    EXPECT_FALSE(parse_rate_bps("fast"));
}

TEST(Quantities, delays_are_written_in_milliseconds) {
    EXPECT_EQ(delay_text(*parse_delay("1us")), "0.001ms");
    EXPECT_EQ(delay_text(*parse_delay("0.000000001ms")), "0.000000001ms");
    EXPECT_EQ(delay_text({}), "0ms");
    EXPECT_EQ(*parse_delay("0.001ms"), (base::Duration{1'000'000}));
    EXPECT_FALSE(parse_delay("-1us"));
}

TEST(Quantities, error_rates_are_parts_of_a_trillion) {
    EXPECT_EQ(*parse_loss("0"), 0u);
    EXPECT_EQ(*parse_loss("0.000000"), 0u);
    EXPECT_EQ(*parse_loss("1e-9"), 1000u);
    EXPECT_EQ(*parse_loss("2.5E-09"), 2500u);
    EXPECT_EQ(*parse_loss("1"), 1'000'000'000'000u);
    EXPECT_EQ(loss_text(2500), "0.0000000025");
    EXPECT_EQ(*parse_loss(loss_text(2500)), 2500u);
    for (const char* wrong : {"", ".", "-1", "1.1", "1e-13", "1e", "1e99", "x", "0.0000000000001"})
        EXPECT_FALSE(parse_loss(wrong)) << wrong;
}

TEST(Quantities, lengths_are_in_metres) {
    EXPECT_EQ(*parse_length_mm("2.5m"), 2500u);
    EXPECT_EQ(*parse_length_mm("300mm"), 300u);
    EXPECT_EQ(length_text(2500), "2.5m");
    for (const char* wrong : {"", "m", "3", "3km", "1.5mm", "99999999999m"})
        EXPECT_FALSE(parse_length_mm(wrong)) << wrong;
}

}  // namespace
}  // namespace tulle::topology
