#include "base/rate.h"

#include <gtest/gtest.h>

#include <utility>

namespace tulle::base {
namespace {

constexpr Rate k400G = Rate::bits_per_second(400'000'000'000);
constexpr Rate k100G = Rate::bits_per_second(100'000'000'000);
constexpr Rate kFdr = Rate::bits_per_second(600'000'000'000, 11);
constexpr uint64_t kPacketBytes = 4096 + 82;

std::pair<uint64_t, uint64_t> ps_per_byte(Rate rate) {
    return {rate.numerator(), rate.denominator()};
}

TEST(Rate, is_a_reduced_fraction_of_picoseconds_per_byte) {
    EXPECT_EQ(ps_per_byte(k400G), std::pair(20ul, 1ul));
    EXPECT_EQ(ps_per_byte(k100G), std::pair(80ul, 1ul));
    EXPECT_EQ(ps_per_byte(kFdr), std::pair(440ul, 3ul));
    EXPECT_EQ(ps_per_byte(Rate::bits_per_second(1)), std::pair(8'000'000'000'000ul, 1ul));
    EXPECT_EQ(ps_per_byte(Rate::bits_per_second(16'000'000'000'000)), std::pair(1ul, 2ul));
}

TEST(Rate, gives_the_closed_form_of_a_packet) {
    EXPECT_EQ(k400G.time_for(kPacketBytes), 83'560_ps);
    EXPECT_EQ(k100G.time_for(kPacketBytes), 334'240_ps);
    EXPECT_EQ(kFdr.time_for(3), 440_ps);
}

TEST(Rate, rounds_the_time_of_bytes_up_and_the_bytes_of_a_time_down) {
    EXPECT_EQ(kFdr.time_for(1), 147_ps);
    EXPECT_EQ(kFdr.bytes_in(147_ps), 1u);
    EXPECT_EQ(kFdr.bytes_in(146_ps), 0u);
    EXPECT_EQ(kFdr.bytes_in(440_ps), 3u);
}

TEST(Rate, survives_byte_counts_whose_product_does_not_fit_64_bits) {
    EXPECT_EQ(kFdr.time_for(30'000'000'000'000'000), 4'400'000_s);
    EXPECT_EQ(kFdr.bytes_in(4'400'000_s), 30'000'000'000'000'000u);
}

TEST(Rate, orders_the_slower_before_the_faster) {
    EXPECT_LT(kFdr, k100G);
    EXPECT_GT(k400G, k100G);
    EXPECT_EQ(k100G, Rate::bits_per_second(200'000'000'000, 2));
}

TEST(RateDeathTest, a_rate_of_zero_is_our_mistake) {
    EXPECT_DEATH(Rate::bits_per_second(0), "internal error");
}

TEST(RateDeathTest, a_time_beyond_64_bits_is_our_mistake) {
    EXPECT_DEATH(k400G.time_for(1'000'000'000'000'000'000), "internal error");
}

TEST(Serializer, a_line_that_is_held_keeps_its_fraction) {
    Serializer line(kFdr);
    for (int i = 0; i < 3; ++i) {
        line.send(Instant{}, 1);
        line.hold(1_ns);
    }
    EXPECT_EQ(line.free_at(), Instant{} + 3440_ps);
}

TEST(Serializer, three_bytes_back_to_back_on_fdr_end_at_440_picoseconds) {
    Serializer line(kFdr);
    EXPECT_EQ(line.send(Instant{0}, 1), Instant{147});      // 146 2/3
    EXPECT_EQ(line.send(line.free_at(), 1), Instant{294});  // 293 1/3
    EXPECT_EQ(line.send(line.free_at(), 1), Instant{440});
}

TEST(Serializer, a_million_packets_back_to_back_do_not_drift) {
    Serializer line(kFdr);
    for (uint64_t n = 1; n <= 1'000'000; ++n) {
        const Instant end = line.send(line.free_at(), kPacketBytes);
        ASSERT_EQ(end, Instant{} + kFdr.time_for(n * kPacketBytes)) << "packet " << n;
    }
}

TEST(Serializer, what_waits_for_the_line_follows_back_to_back) {
    Serializer line(kFdr);
    for (int i = 0; i < 3; ++i) line.send(Instant{5}, 1);
    EXPECT_EQ(line.free_at(), Instant{445});
}

TEST(Serializer, an_idle_line_drops_the_fraction_and_starts_when_asked) {
    Serializer line(kFdr);
    line.send(Instant{0}, 1);
    EXPECT_EQ(line.send(Instant{148}, 1), Instant{148 + 147});
    EXPECT_EQ(line.send(line.free_at(), 2), Instant{148 + 440});
}

TEST(Serializer, sends_several_bytes_in_one_picosecond) {
    Serializer line(Rate::bits_per_second(32'000'000'000'000));  // 1/4 ps per byte
    for (int i = 0; i < 4; ++i) EXPECT_EQ(line.send(Instant{0}, 1), Instant{1});
    EXPECT_EQ(line.send(Instant{0}, 1), Instant{2});
}

}  // namespace
}  // namespace tulle::base
