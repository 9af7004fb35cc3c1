#include "wire/syndrome.h"

#include <gtest/gtest.h>

namespace tulle::wire {
namespace {

TEST(Syndrome, kind_and_code_come_apart_as_they_were_put_together) {
    EXPECT_EQ(syndrome_of(NakCode::remote_access_error), 0x62);
    EXPECT_EQ(ack_kind(0x62), AckKind::nak);
    EXPECT_EQ(ack_code(0x62), 2);
    EXPECT_EQ(ack_kind(0x1f), AckKind::ack);
    EXPECT_EQ(ack_code(0x1f), kNoCredits);
    EXPECT_EQ(ack_kind(0x2c), AckKind::rnr_nak);
}

TEST(Syndrome, rnr_waits_are_those_of_table_47) {
    EXPECT_EQ(rnr_wait_microseconds(0), 655'360u);
    EXPECT_EQ(rnr_wait_microseconds(1), 10u);
    EXPECT_EQ(rnr_wait_microseconds(5), 60u);
    EXPECT_EQ(rnr_wait_microseconds(12), 640u);
    EXPECT_EQ(rnr_wait_microseconds(13), 960u);
    EXPECT_EQ(rnr_wait_microseconds(30), 327'680u);
    EXPECT_EQ(rnr_wait_microseconds(31), 491'520u);
}

TEST(Syndrome, credits_are_those_of_table_46) {
    EXPECT_EQ(credits_of(0), 0u);
    EXPECT_EQ(credits_of(4), 4u);
    EXPECT_EQ(credits_of(7), 12u);
    EXPECT_EQ(credits_of(30), 32'768u);
}

TEST(Syndrome, a_credit_code_is_that_of_the_most_credits_that_are_not_too_many) {
    for (uint32_t receives = 0; receives < 70'000; ++receives) {
        uint8_t code = 0;
        while (code + 1 < kNoCredits && credits_of(code + 1) <= receives) ++code;
        ASSERT_EQ(credit_code_of(receives), code) << receives;
    }
    EXPECT_EQ(credit_code_of(UINT32_MAX), 30);
}

}  // namespace
}  // namespace tulle::wire
