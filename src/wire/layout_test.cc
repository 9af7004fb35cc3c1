#include "wire/layout.h"

#include <gtest/gtest.h>

#include <string>

#include "wire/ids.h"

namespace tulle::wire {
namespace {

struct Inner {
    static constexpr size_t kSize = 2;
    uint8_t high = 0;
    uint16_t low = 0;
    static constexpr auto kFields =
        fields(field<&Inner::high, 4>("high"), field<&Inner::low, 12>("low"));
};

struct Sample {
    static constexpr size_t kSize = 16;
    bool flag = false;
    uint8_t seven = 0;
    Psn psn;
    std::array<uint8_t, 4> nibbles{};
    MacAddress mac;
    Inner inner;
    uint16_t last = 0;
    static constexpr auto kFields =
        fields(field<&Sample::flag, 1>("flag"), field<&Sample::seven, 7>("seven"),
               field<&Sample::psn, 24>("psn"), field<&Sample::nibbles, 16>("nibbles"),
               field<&Sample::mac, 48>("mac"), field<&Sample::inner, 16>("inner"),
               field<&Sample::last, 16>("last"));
};

std::array<std::byte, 16> counting_bytes() {
    std::array<std::byte, 16> bytes{};
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(0x81 + 0x11 * i);
    return bytes;
}

TEST(Layout, reads_each_field_from_its_place_most_significant_bit_first) {
    const auto bytes = counting_bytes();  // 81 92 a3 b4 c5 d6 e7 f8 09 1a 2b 3c 4d 5e 6f 80
    const auto sample = parse<Sample>(bytes);
    ASSERT_TRUE(sample);
    EXPECT_TRUE(sample->flag);
    EXPECT_EQ(sample->seven, 1);
    EXPECT_EQ(sample->psn.value, 0x92a3b4u);
    EXPECT_EQ(sample->nibbles, (std::array<uint8_t, 4>{0xc, 0x5, 0xd, 0x6}));
    EXPECT_EQ(sample->mac.bytes[5], 0x3c);
    EXPECT_EQ(sample->inner.high, 0x4);
    EXPECT_EQ(sample->inner.low, 0xd5e);
    EXPECT_EQ(sample->last, 0x6f80);
}

TEST(Layout, writing_what_was_parsed_gives_the_same_bytes) {
    const auto bytes = counting_bytes();
    std::array<std::byte, 16> again{};
    again.fill(std::byte{0xff});  // old content must not remain
    write(*parse<Sample>(bytes), again);
    EXPECT_EQ(again, bytes);
}

TEST(Layout, too_few_bytes_are_no_header) {
    const auto bytes = counting_bytes();
    EXPECT_FALSE(parse<Sample>(Bytes(bytes).first(15)));
    EXPECT_FALSE(parse<Sample>(Bytes()));
}

TEST(Layout, a_value_too_wide_for_its_field_does_not_spill_into_its_neighbours) {
    Sample sample;
    sample.seven = 0xff;
    std::array<std::byte, 16> bytes{};
    write(sample, bytes);
    EXPECT_FALSE(parse<Sample>(bytes)->flag);
    EXPECT_EQ(parse<Sample>(bytes)->seven, 0x7f);
}

TEST(Layout, fields_are_visited_in_wire_order) {
    std::string names;
    for_each_field(Sample{},
                   [&](const char* name, const auto&) { names += std::string(name) + " "; });
    EXPECT_EQ(names, "flag seven psn nibbles mac inner last ");
}

TEST(LayoutDeathTest, writing_into_too_little_room_is_our_mistake) {
    std::array<std::byte, 15> bytes{};
    EXPECT_DEATH(write(Sample{}, bytes), "internal error");
}

TEST(Psn, order_is_circular) {
    EXPECT_TRUE(psn_before(Psn{1}, Psn{2}));
    EXPECT_FALSE(psn_before(Psn{2}, Psn{2}));
    EXPECT_TRUE(psn_before(Psn{0xffffff}, Psn{0}));
    EXPECT_FALSE(psn_before(Psn{0}, Psn{0xffffff}));
    EXPECT_FALSE(psn_before(Psn{0}, Psn{0x800000}));
    EXPECT_EQ(psn_plus(Psn{0xffffff}, 2), Psn{1});
}

}  // namespace
}  // namespace tulle::wire
