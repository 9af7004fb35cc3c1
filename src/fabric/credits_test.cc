#include "fabric/credits.h"

#include <gtest/gtest.h>

namespace tulle::fabric {
namespace {

constexpr CreditScale kScale(kBlockBytes);

TEST(Credits, a_packet_takes_whole_blocks) {
    constexpr CreditScale kUnit(kBlockBytes);
    EXPECT_EQ(kUnit.blocks_of(0), 0u);
    EXPECT_EQ(kUnit.blocks_of(1), 1u);
    EXPECT_EQ(kUnit.blocks_of(64), 1u);
    EXPECT_EQ(kUnit.blocks_of(65), 2u);
    EXPECT_EQ(kUnit.blocks_of(4122), 65u);
    EXPECT_EQ(CreditScale(256).blocks_of(4178), 17u);  // of CBFC
    EXPECT_EQ(CreditScale(128).most_bytes(), 262'144u);
}

TEST(Credits, a_limit_that_has_wrapped_lies_ahead) {
    const CreditsLeft left{.total_sent = 0xff0, .credit_limit = 0x010};
    EXPECT_EQ(left.blocks(kScale), 0x20u);
    EXPECT_TRUE(left.allow(0x20, kScale));
    EXPECT_FALSE(left.allow(0x21, kScale));
}

TEST(Credits, a_limit_behind_what_was_sent_allows_nothing) {
    EXPECT_EQ((CreditsLeft{.total_sent = 1, .credit_limit = 0}.blocks(kScale)), 0u);
    EXPECT_EQ((CreditsLeft{.total_sent = 5, .credit_limit = 5}.blocks(kScale)), 0u);
    EXPECT_EQ((CreditsLeft{.total_sent = 0, .credit_limit = 2048}.blocks(kScale)), 2048u);
    EXPECT_EQ((CreditsLeft{.total_sent = 0, .credit_limit = 2049}.blocks(kScale)), 0u);
}

TEST(Credits, spending_wraps_at_twelve_bits) {
    CreditsLeft left{.total_sent = 0xfff, .credit_limit = 0x005};
    left.spend(1, kScale);
    EXPECT_EQ(left.total_sent, 0u);
    EXPECT_EQ(left.blocks(kScale), 5u);
}

// Both halves, a thousand times around: what may be sent is always what the buffer has room for.
TEST(Credits, of_sender_and_receiver_agree_through_every_wrap) {
    for (const uint32_t capacity : {65u, 1024u, 2047u, 2048u}) {
        CreditsGiven given{.last_limit = static_cast<uint16_t>(capacity)};
        CreditsLeft left{.credit_limit = static_cast<uint16_t>(capacity)};
        for (uint32_t i = 0; i < 1000 * 4096 / 65; ++i) {
            ASSERT_EQ(left.blocks(kScale), capacity - given.used_blocks);
            ASSERT_TRUE(left.allow(65, kScale));
            left.spend(65, kScale);
            given.receive(65, kScale);
            ASSERT_EQ(given.news(capacity, kScale), 0u);
            given.release(65);
            ASSERT_EQ(given.news(capacity, kScale), 65u);
            left.credit_limit = given.last_limit = given.limit(capacity, kScale);
        }
    }
}

TEST(Credits, never_grant_more_than_half_of_what_twelve_bits_count) {
    CreditsGiven given{.last_limit = 2048};
    EXPECT_EQ(given.limit(10'000, kScale), 2048u);
    given.receive(
        100, kScale);  // room for all that came and more: the limit moves with what was received
    EXPECT_EQ(given.limit(10'000, kScale), 2148u);
    EXPECT_EQ(given.news(10'000, kScale), 100u);
    given.receive(9000, kScale);
    EXPECT_EQ(given.limit(10'000, kScale), (100 + 9000 + 900) & 0xfff);
}

// NVLink's: wider counters, larger credits, and buffers that InfiniBand's could not speak of.
TEST(Credits, wider_counters_give_more_and_wrap_later) {
    constexpr CreditScale kWide(256, 16);
    EXPECT_EQ(kWide.most_blocks(), 32'768u);
    EXPECT_EQ(kWide.most_bytes(), 8u << 20);
    CreditsLeft left{.total_sent = 0xffff, .credit_limit = 0x7ffe};
    EXPECT_EQ(left.blocks(kWide), 0x7fffu);
    left.spend(17, kWide);
    EXPECT_EQ(left.total_sent, 16u);
    EXPECT_EQ(left.blocks(kWide), 0x7ffeu - 16);
    CreditsGiven given{.blocks_received = 0xfff0, .last_limit = 0xfff0};
    EXPECT_EQ(given.limit(4'096, kWide), 0x0ff0u);
    EXPECT_EQ(given.news(4'096, kWide), 4'096u);
}

}  // namespace
}  // namespace tulle::fabric
