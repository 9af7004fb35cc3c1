#include "scenario/prices.h"

#include <gtest/gtest.h>

namespace tulle::scenario {
namespace {

TEST(prices, the_sample_prices_parts_of_every_kind_for_both_kinds_of_links) {
    const Prices prices = sample_prices();
    EXPECT_EQ(prices.currency, "USD");
    for (const auto* parts :
         {&prices.switches, &prices.adapters, &prices.copper, &prices.optics, &prices.fibre})
        EXPECT_FALSE(parts->empty());
    EXPECT_EQ(prices.switches.front().price, 36'000'000u);
    EXPECT_EQ(prices.copper.front().reach_mm, 3000u);
}

TEST(prices, have_decimals) {
    const auto prices =
        read_prices("currency: USD\nfibre: [{rate: 1Gbps, price: 0.45, watts: 1.5}]\n", "p.yaml");
    ASSERT_TRUE(prices.ok()) << prices.error().message;
    EXPECT_EQ(prices->fibre[0].price, 450u);
    EXPECT_EQ(prices->fibre[0].milliwatts, 1500u);
}

TEST(prices, what_is_wrong_is_said_with_its_line) {
    const auto error_of = [](std::string_view text) {
        return read_prices(text, "p.yaml").error().message;
    };
    EXPECT_EQ(error_of("optics:\n  - {rate: 1Gbps, price: cheap, watts: 1}\n"),
              "p.yaml:2: price: 'cheap' is no number such as 1800 or 0.45");
    EXPECT_EQ(error_of("switches:\n  - {rate: 1Gbps, price: 1, watts: 1}\n"),
              "p.yaml:2: `ports` is missing");
    EXPECT_EQ(error_of(""), "p.yaml:1: `currency` is missing; write the currency of all prices");
    EXPECT_NE(error_of("switch: []\n").find("did you mean 'switches'"), std::string::npos);
    EXPECT_NE(error_of("optics: [{rate: 1Gbps, price: 1, watts: 1, link: glass}]").find("glass"),
              std::string::npos);
}

}  // namespace
}  // namespace tulle::scenario
