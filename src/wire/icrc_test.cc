#include "wire/icrc.h"

#include <gtest/gtest.h>

#include <vector>

#include "wire/packet.h"
#include "wire/testing.h"

namespace tulle::wire {
namespace {

using testing::kEncapsulations;
using testing::link_of;
using testing::Random;

template <class... B>
std::vector<std::byte> octets(B... values) {
    return {static_cast<std::byte>(values)...};
}

// A local packet, RC RDMA WRITE Only of 14 bytes and two of pad: the calculation example of IBTA
// vol 1, 7.8.
const std::vector<std::byte> kSample = octets(
    0x70, 0x12, 0x37, 0x5c, 0x00, 0x0e, 0x17, 0xd2,                          // LRH
    0x0a, 0x20, 0x24, 0x87, 0x00, 0x87, 0xb1, 0xb3, 0x00, 0x0d, 0xec, 0x2a,  // BTH
    0x01, 0x71, 0x0a, 0x1c, 0x01, 0x5d, 0x40, 0x02, 0x38, 0xf2, 0x7a, 0x05, 0x00, 0x00, 0x00, 0x0e,
    0xbb, 0x88, 0x4d, 0x85, 0xfd, 0x5c, 0xfb, 0xa4, 0x72, 0x8b, 0xc0, 0x69, 0x0e, 0xd4, 0x00, 0x00);

TEST(Icrc, sample_of_the_specification) {
    EXPECT_EQ(icrc(Encapsulation::infiniband_local, kSample), 0x5ab72596u);  // 96 25 b7 5a
}

std::vector<std::byte> sample_bytes(Encapsulation encapsulation, Random& random) {
    const auto payload = testing::random_bytes(random, 37);
    const Packet packet = testing::random_packet(random, 0x0a, payload);
    std::vector<std::byte> bytes(kMaxEncodedSize);
    bytes.resize(encode(packet, testing::sample_path(encapsulation), payload, bytes));
    return bytes;
}

// Bits of the envelope and the BTH that a switch or router may change, counted from the first
// covered byte: byte and mask.
struct Variant {
    size_t byte;
    uint8_t mask;
};

std::vector<Variant> variants_of(Encapsulation encapsulation) {
    const auto grh = [](size_t at) {
        return std::vector<Variant>{
            {at, 0x0f}, {at + 1, 0xff}, {at + 2, 0xff}, {at + 3, 0xff}, {at + 7, 0xff}};
    };
    std::vector<Variant> list;
    switch (encapsulation) {
        case Encapsulation::infiniband_local: list = {{0, 0xf0}}; break;
        case Encapsulation::infiniband_global:
            list = grh(8);
            for (size_t i = 0; i < 8; ++i) list.push_back({i, 0xff});
            break;
        case Encapsulation::roce_v1: list = grh(0); break;
        case Encapsulation::roce_v2_ipv4:
            list = {{1, 0xff}, {8, 0xff}, {10, 0xff}, {11, 0xff}, {26, 0xff}, {27, 0xff}};
            break;
        case Encapsulation::roce_v2_ipv6:
            list = grh(0);
            list.insert(list.end(), {{46, 0xff}, {47, 0xff}});
            break;
    }
    list.push_back({icrc_envelope_size(encapsulation) + 4, 0xff});
    return list;
}

bool may_change(const std::vector<Variant>& variants, size_t byte, unsigned bit) {
    for (const Variant& variant : variants)
        if (variant.byte == byte && (variant.mask >> bit & 1) != 0) return true;
    return false;
}

TEST(Icrc, exactly_the_bits_that_may_change_on_the_way_are_left_out) {
    Random random(1);
    for (const Encapsulation encapsulation : kEncapsulations) {
        const auto bytes = sample_bytes(encapsulation, random);
        const Frame frame = parse_frame(link_of(encapsulation), bytes);
        ASSERT_EQ(frame.kind, FrameKind::transport);
        const size_t begin = link_of(encapsulation) == LinkLayer::ethernet ? Ethernet::kSize : 0;
        const size_t end = bytes.size() - kIcrcSize - (frame.has_vcrc ? kVcrcSize : 0);
        std::vector<std::byte> covered(bytes.begin() + static_cast<long>(begin),
                                       bytes.begin() + static_cast<long>(end));
        ASSERT_EQ(icrc(encapsulation, covered), frame.icrc.value);
        const auto variants = variants_of(encapsulation);
        for (size_t byte = 0; byte < covered.size(); ++byte)
            for (unsigned bit = 0; bit < 8; ++bit) {
                covered[byte] ^= std::byte{1} << bit;
                const bool same = icrc(encapsulation, covered) == frame.icrc.value;
                EXPECT_EQ(same, may_change(variants, byte, bit))
                    << "encapsulation " << static_cast<int>(encapsulation) << " byte " << byte
                    << " bit " << bit;
                covered[byte] ^= std::byte{1} << bit;
            }
    }
}

TEST(Vcrc, covers_every_byte_before_it) {
    Random random(2);
    auto bytes = sample_bytes(Encapsulation::infiniband_local, random);
    const Frame frame = parse_frame(LinkLayer::infiniband, bytes);
    ASSERT_TRUE(frame.has_vcrc);
    EXPECT_EQ(frame.vcrc.value, expected_vcrc(frame, bytes));
    for (size_t byte = 0; byte + kVcrcSize < bytes.size(); ++byte) {
        bytes[byte] ^= std::byte{0x10};
        EXPECT_NE(frame.vcrc.value, expected_vcrc(frame, bytes)) << byte;
        bytes[byte] ^= std::byte{0x10};
    }
}

// What a UDP socket delivers: the bytes from the BTH on.
TEST(Icrc, an_envelope_that_lies_elsewhere_gives_the_same) {
    Random random(8);
    for (const Encapsulation encapsulation :
         {Encapsulation::roce_v2_ipv4, Encapsulation::roce_v2_ipv6}) {
        const auto bytes = sample_bytes(encapsulation, random);
        const Bytes covered = Bytes(bytes).subspan(14, bytes.size() - 14 - kIcrcSize);
        const size_t envelope = icrc_envelope_size(encapsulation);
        const uint32_t state = icrc_of_envelope(encapsulation, covered.first(envelope));
        EXPECT_EQ(icrc_with(state, covered.subspan(envelope)), icrc(encapsulation, covered));
        const size_t shortest = envelope + Bth::kSize;
        EXPECT_EQ(icrc_with(state, covered.subspan(envelope, Bth::kSize)),
                  icrc(encapsulation, covered.first(shortest)));
    }
}

TEST(Icrc, an_identification_is_added_to_what_is_known_of_an_envelope) {
    Random random(9);
    const auto bytes = sample_bytes(Encapsulation::roce_v2_ipv4, random);
    std::array<std::byte, Ipv4::kSize + Udp::kSize> envelope;
    std::copy_n(bytes.begin() + 14, envelope.size(), envelope.begin());
    envelope[4] = envelope[5] = std::byte{0};
    const uint32_t without = icrc_of_envelope(Encapsulation::roce_v2_ipv4, envelope);
    for (const uint16_t identification : {0, 1, 0x1234, 0xffff}) {
        envelope[4] = static_cast<std::byte>(identification >> 8);
        envelope[5] = static_cast<std::byte>(identification);
        EXPECT_EQ(icrc_with_identification(without, identification),
                  icrc_of_envelope(Encapsulation::roce_v2_ipv4, envelope));
    }
}

TEST(Icrc, the_identification_that_was_sent_is_found) {
    Random random(9);
    auto bytes = sample_bytes(Encapsulation::roce_v2_ipv4, random);
    const MutableBytes covered = MutableBytes(bytes).subspan(14, bytes.size() - 14 - kIcrcSize);
    covered[4] = covered[5] = std::byte{0};
    const uint32_t expected = icrc(Encapsulation::roce_v2_ipv4, covered);
    for (const uint32_t id : {0u, 1u, 0x100u, 0x8001u, 0xffffu, 0x1234u}) {
        covered[4] = static_cast<std::byte>(id >> 8);
        covered[5] = static_cast<std::byte>(id);
        const uint32_t found = icrc(Encapsulation::roce_v2_ipv4, covered);
        EXPECT_EQ(identification_for(expected, found, covered.size()), id);
    }
}

TEST(Icrc, a_damaged_packet_has_no_identification) {
    Random random(10);
    auto bytes = sample_bytes(Encapsulation::roce_v2_ipv4, random);
    const MutableBytes covered = MutableBytes(bytes).subspan(14, bytes.size() - 14 - kIcrcSize);
    covered[4] = covered[5] = std::byte{0};
    const uint32_t found = icrc(Encapsulation::roce_v2_ipv4, covered);
    for (size_t bit = 28 * 8; bit < covered.size() * 8; bit += 5) {
        if (bit / 8 == 32) continue;  // switches may change it
        covered[bit / 8] ^= std::byte{1} << bit % 8;
        const uint32_t expected = icrc(Encapsulation::roce_v2_ipv4, covered);
        EXPECT_FALSE(identification_for(expected, found, covered.size())) << bit;
        covered[bit / 8] ^= std::byte{1} << bit % 8;
    }
}

}  // namespace
}  // namespace tulle::wire
