#include "base/units.h"

#include <gtest/gtest.h>

#include <limits>

namespace tulle::base {
namespace {

TEST(Units, reads_durations_exactly) {
    EXPECT_EQ(*parse_duration("1.5us"), 1'500_ns);
    EXPECT_EQ(*parse_duration("0.001 ns"), 1_ps);
    EXPECT_EQ(*parse_duration("20ps"), 20_ps);
    EXPECT_EQ(*parse_duration(" 3 s "), 3_s);
    EXPECT_EQ(*parse_duration("0ms"), 0_ms);
}

TEST(Units, reads_sizes_in_binary_and_decimal_units) {
    EXPECT_EQ(*parse_bytes("64KiB"), 65'536u);
    EXPECT_EQ(*parse_bytes("2MB"), 2'000'000u);
    EXPECT_EQ(*parse_bytes("1.5 KiB"), 1'536u);
    EXPECT_EQ(*parse_bytes("4096"), 4'096u);
    EXPECT_EQ(*parse_bytes("82B"), 82u);
}

TEST(Units, reads_rates_in_bits_and_bytes) {
    EXPECT_EQ(*parse_rate("400Gbps"), Rate::bits_per_second(400'000'000'000));
    EXPECT_EQ(*parse_rate("54.54Gb/s"), Rate::bits_per_second(54'540'000'000));
    EXPECT_EQ(*parse_rate("12.5 GB/s"), Rate::bits_per_second(100'000'000'000));
    EXPECT_EQ(*parse_rate("1bps"), Rate::bits_per_second(1));
}

TEST(Units, says_what_is_wrong_and_what_to_write) {
    EXPECT_EQ(parse_rate("fast").error().message,
              "'fast' is no number of at most 18 digits with a unit; write a rate such as 400Gbps");
    EXPECT_EQ(parse_duration("5").error().message,
              "'5' has no unit; the units are ps ns us ms s; write a duration such as 1.5us");
    EXPECT_EQ(parse_rate("400gbit").error().message,
              "'400gbit' has the unknown unit 'gbit'; the units are b/s kb/s Mb/s Gb/s Tb/s bps "
              "kbps Mbps Gbps Tbps B/s kB/s MB/s GB/s TB/s; write a rate such as 400Gbps");
    EXPECT_EQ(parse_bytes("100kb").error().message,
              "'100kb' has the unknown unit 'kb'; the units are B KiB MiB GiB TiB kB KB MB GB TB; "
              "write a size such as 64KiB");
    EXPECT_EQ(parse_duration("0.5ps").error().message,
              "'0.5ps' is no whole number of picoseconds; write a duration such as 1.5us");
    EXPECT_EQ(parse_duration("10000000s").error().message,
              "'10000000s' is too large; write a duration such as 1.5us");
    EXPECT_EQ(parse_rate("0Gbps").error().message,
              "'0Gbps' would never deliver anything; write a rate such as 400Gbps");
}

TEST(Units, refuses_what_is_almost_a_number) {
    for (const char* text : {"", " ", ".", ".5us", "5.us", "1..5us", "-1us", "+1us", "1e3us",
                             "1,5us", "1234567890123456789ps", "0x10us", "1.5usx", "1 5us"})
        EXPECT_FALSE(parse_duration(text).ok()) << text;
}

TEST(Units, prints_the_largest_unit_that_keeps_the_number_readable) {
    EXPECT_EQ(to_string(0_ps), "0 ps");
    EXPECT_EQ(to_string(1'234_ns), "1.234 us");
    EXPECT_EQ(to_string(1'500_ns), "1.5 us");
    EXPECT_EQ(to_string(-20_ms), "-20 ms");
    EXPECT_EQ(to_string(4'000_s), "4000 s");
    EXPECT_EQ(bytes_to_string(65'536), "64 KiB");
    EXPECT_EQ(bytes_to_string(1'000), "1000 B");
    EXPECT_EQ(bytes_to_string(1'500), "1.465 KiB");
    EXPECT_EQ(to_string(Rate::bits_per_second(400'000'000'000)), "400 Gb/s");
    EXPECT_EQ(to_string(Rate::bits_per_second(600'000'000'000, 11)), "54.545 Gb/s");
}

TEST(Units, rounds_to_the_next_unit_where_three_decimals_reach_it) {
    EXPECT_EQ(to_string(Duration{999'999'499}), "999.999 us");
    EXPECT_EQ(to_string(Duration{999'999'500}), "1 ms");
}

TEST(Units, prints_the_extremes) {
    EXPECT_EQ(to_string(Duration{std::numeric_limits<int64_t>::min()}), "-9223372.037 s");
    EXPECT_EQ(bytes_to_string(std::numeric_limits<uint64_t>::max()), "16777216 TiB");
}

TEST(Units, reads_back_what_it_prints_without_rounding) {
    EXPECT_EQ(*parse_duration(to_string(1'234_ns)), 1'234_ns);
    EXPECT_EQ(*parse_bytes(bytes_to_string(3 * 65'536 / 2)), 3u * 65'536 / 2);
    EXPECT_EQ(*parse_rate(to_string(Rate::bits_per_second(25'000'000'000))),
              Rate::bits_per_second(25'000'000'000));
}

}  // namespace
}  // namespace tulle::base
