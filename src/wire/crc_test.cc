#include "wire/crc.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace tulle::wire {
namespace {

std::vector<std::byte> some_bytes(size_t count) {
    std::vector<std::byte> bytes(count);
    uint32_t x = 12345;
    for (std::byte& byte : bytes)
        byte = static_cast<std::byte>((x = x * 1664525 + 1013904223) >> 24);
    return bytes;
}

// Bit by bit, after the definition.
template <class Word>
Word by_definition(Word state, Word polynomial, Bytes bytes) {
    for (const std::byte byte : bytes)
        for (unsigned bit = 0; bit < 8; ++bit) {
            const bool flip = ((state ^ (std::to_integer<unsigned>(byte) >> bit)) & 1) != 0;
            state = static_cast<Word>((state >> 1) ^ (flip ? polynomial : 0));
        }
    return state;
}

TEST(Crc, check_value_of_crc_32) {
    constexpr std::string_view kText = "123456789";
    const Bytes bytes = std::as_bytes(std::span(kText));
    EXPECT_EQ(crc32_finish(crc32_update(kCrc32Start, bytes)), 0xcbf43926u);
}

TEST(Crc, every_way_of_computing_gives_the_definition_for_every_length_and_alignment) {
    const auto bytes = some_bytes(700);
    for (size_t offset = 0; offset < 9; ++offset)
        for (size_t length = 0; offset + length <= bytes.size(); ++length) {
            const Bytes part = Bytes(bytes).subspan(offset, length);
            const uint32_t expected = by_definition<uint32_t>(0x1234abcd, 0xedb88320, part);
            ASSERT_EQ(crc32_update(0x1234abcd, part), expected) << offset << " " << length;
            ASSERT_EQ(crc32_update_portable(0x1234abcd, part), expected) << offset << " " << length;
            ASSERT_EQ(crc16_update(0xabcd, part), by_definition<uint16_t>(0xabcd, 0xd008, part));
        }
}

TEST(Crc, a_buffer_may_be_summed_in_pieces) {
    const auto bytes = some_bytes(5000);
    const uint32_t whole = crc32_update(kCrc32Start, bytes);
    for (size_t cut : {1u, 15u, 63u, 64u, 100u, 4096u}) {
        const uint32_t head = crc32_update(kCrc32Start, Bytes(bytes).first(cut));
        EXPECT_EQ(crc32_update(head, Bytes(bytes).subspan(cut)), whole) << cut;
    }
}

}  // namespace
}  // namespace tulle::wire
