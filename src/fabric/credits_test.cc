#include "fabric/credits.h"

#include <gtest/gtest.h>

namespace tulle::fabric {
namespace {

TEST(Credits, a_packet_takes_whole_blocks) {
    constexpr CreditUnit kUnit(kBlockBytes);
    EXPECT_EQ(kUnit.blocks_of(0), 0u);
    EXPECT_EQ(kUnit.blocks_of(1), 1u);
    EXPECT_EQ(kUnit.blocks_of(64), 1u);
    EXPECT_EQ(kUnit.blocks_of(65), 2u);
    EXPECT_EQ(kUnit.blocks_of(4122), 65u);
    EXPECT_EQ(CreditUnit(256).blocks_of(4178), 17u);  // of CBFC
    EXPECT_EQ(CreditUnit(128).most_bytes(), 262'144u);
}

TEST(Credits, a_limit_that_has_wrapped_lies_ahead) {
    const CreditsLeft left{.total_sent = 0xff0, .credit_limit = 0x010};
    EXPECT_EQ(left.blocks(), 0x20u);
    EXPECT_TRUE(left.allow(0x20));
    EXPECT_FALSE(left.allow(0x21));
}

TEST(Credits, a_limit_behind_what_was_sent_allows_nothing) {
    EXPECT_EQ((CreditsLeft{.total_sent = 1, .credit_limit = 0}.blocks()), 0u);
    EXPECT_EQ((CreditsLeft{.total_sent = 5, .credit_limit = 5}.blocks()), 0u);
    EXPECT_EQ((CreditsLeft{.total_sent = 0, .credit_limit = 2048}.blocks()), 2048u);
    EXPECT_EQ((CreditsLeft{.total_sent = 0, .credit_limit = 2049}.blocks()), 0u);
}

TEST(Credits, spending_wraps_at_twelve_bits) {
    CreditsLeft left{.total_sent = 0xfff, .credit_limit = 0x005};
    left.spend(1);
    EXPECT_EQ(left.total_sent, 0u);
    EXPECT_EQ(left.blocks(), 5u);
}

// Both halves, a thousand times around: what may be sent is always what the buffer has room for.
TEST(Credits, of_sender_and_receiver_agree_through_every_wrap) {
    for (const uint32_t capacity : {65u, 1024u, 2047u, 2048u}) {
        CreditsGiven given{.last_limit = static_cast<uint16_t>(capacity)};
        CreditsLeft left{.credit_limit = static_cast<uint16_t>(capacity)};
        for (uint32_t i = 0; i < 1000 * 4096 / 65; ++i) {
            ASSERT_EQ(left.blocks(), capacity - given.used_blocks);
            ASSERT_TRUE(left.allow(65));
            left.spend(65);
            given.receive(65);
            ASSERT_EQ(given.news(capacity), 0u);
            given.release(65);
            ASSERT_EQ(given.news(capacity), 65u);
            left.credit_limit = given.last_limit = given.limit(capacity);
        }
    }
}

TEST(Credits, never_grant_more_than_half_of_what_twelve_bits_count) {
    CreditsGiven given{.last_limit = kMaxCreditBlocks};
    EXPECT_EQ(given.limit(10'000), 2048u);
    given.receive(100);  // room for all that came and more: the limit moves with what was received
    EXPECT_EQ(given.limit(10'000), 2148u);
    EXPECT_EQ(given.news(10'000), 100u);
    given.receive(9000);
    EXPECT_EQ(given.limit(10'000), (100 + 9000 + 900) & kCreditMask);
}

}  // namespace
}  // namespace tulle::fabric
