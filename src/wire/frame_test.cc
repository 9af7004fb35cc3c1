#include "wire/frame.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "wire/packet.h"
#include "wire/testing.h"

namespace tulle::wire {
namespace {

using testing::link_of;
using testing::Random;

std::vector<std::byte> sample(Encapsulation encapsulation, uint8_t opcode, size_t length) {
    Random random(7);
    const auto payload = testing::random_bytes(random, length);
    const Packet packet = testing::random_packet(random, opcode, payload);
    std::vector<std::byte> bytes(kMaxEncodedSize);
    bytes.resize(encode(packet, testing::sample_path(encapsulation), payload, bytes));
    return bytes;
}

std::vector<std::byte> written(const Frame& frame) {
    std::vector<std::byte> bytes(frame_size(frame));
    EXPECT_EQ(write_frame(frame, bytes), bytes.size());
    return bytes;
}

constexpr uint8_t kWriteOnly = opcode_of(Service::rc, Operation::write_only);

TEST(Frame, whatever_was_parsed_is_written_back_the_same) {
    Random random(3);
    for (const Encapsulation encapsulation : testing::kEncapsulations) {
        const auto original = sample(encapsulation, kWriteOnly, 50);
        for (int round = 0; round < 2000; ++round) {
            auto bytes = original;
            for (int flips = 0; flips < 3; ++flips)
                bytes[random() % bytes.size()] ^= static_cast<std::byte>(1u << random() % 8);
            bytes.resize(random() % 4 == 0 ? random() % (bytes.size() + 1) : bytes.size());
            const Frame frame = parse_frame(link_of(encapsulation), bytes, original.size());
            ASSERT_EQ(written(frame), bytes);
        }
    }
}

TEST(Frame, every_damaged_bit_outside_the_mutable_fields_shows_in_the_icrc_or_the_kind) {
    const auto original = sample(Encapsulation::roce_v2_ipv6, kWriteOnly, 8);
    const size_t bth = Ethernet::kSize + Grh::kSize + Udp::kSize;
    for (size_t byte = bth; byte < original.size(); ++byte) {
        auto bytes = original;
        bytes[byte] ^= std::byte{0x01};
        const Frame frame = parse_frame(LinkLayer::ethernet, bytes);
        const bool mutable_byte = byte == bth + 4;
        const bool noticed =
            frame.kind != FrameKind::transport || frame.icrc.value != expected_icrc(frame, bytes);
        EXPECT_EQ(noticed, !mutable_byte) << "byte " << byte;
    }
}

TEST(Frame, a_packet_that_the_capture_cut_keeps_its_headers) {
    const auto whole = sample(Encapsulation::roce_v2_ipv4, kWriteOnly, 1000);
    const Frame frame = parse_frame(LinkLayer::ethernet, Bytes(whole).first(100), whole.size());
    ASSERT_EQ(frame.kind, FrameKind::transport);
    EXPECT_TRUE(frame.cut);
    EXPECT_TRUE(frame.transport.has(kReth));
    EXPECT_EQ(frame.payload.size(), 100u - 14 - 20 - 8 - 12 - 16);
}

TEST(Frame, a_packet_cut_within_its_headers_is_malformed) {
    const auto whole = sample(Encapsulation::roce_v2_ipv4, kWriteOnly, 1000);
    for (size_t size = 0; size < 14u + 20 + 8 + 12 + 16; ++size) {
        const Frame frame =
            parse_frame(LinkLayer::ethernet, Bytes(whole).first(size), whole.size());
        ASSERT_EQ(frame.kind, FrameKind::malformed) << size;
        ASSERT_EQ(frame.problem, "the capture is cut within the headers") << size;
    }
}

struct Damage {
    const char* what;
    size_t byte;
    uint8_t value;
    FrameKind kind;
    const char* problem;
};

TEST(Frame, wrong_headers_are_named) {
    const auto original = sample(Encapsulation::roce_v2_ipv4, kWriteOnly, 8);
    const Damage kDamages[] = {
        {"EtherType of ARP", 13, 0x06, FrameKind::foreign, "an EtherType that is not RoCE"},
        {"IP version", 14, 0x65, FrameKind::malformed, "an IPv4 header whose version is not 4"},
        {"IP options", 14, 0x46, FrameKind::foreign,
         "IPv4 with options, which RoCE v2 does not use"},
        {"TCP", 23, 6, FrameKind::foreign, "IPv4, not UDP"},
        {"fragment", 20, 0x20, FrameKind::foreign, "a fragment of IPv4"},
        {"port", 37, 0, FrameKind::foreign, "UDP, not to port 4791"},
        {"UDP length", 39, 40, FrameKind::malformed,
         "a UDP length that differs from the IP length"},
        {"opcode with more headers", 42, opcode_of(Service::rd, Operation::fetch_add),
         FrameKind::malformed, "too short for the headers of its opcode"},
    };
    for (const Damage& damage : kDamages) {
        auto bytes = original;
        bytes[damage.byte] = static_cast<std::byte>(damage.value);
        const Frame frame = parse_frame(LinkLayer::ethernet, bytes);
        EXPECT_EQ(frame.kind, damage.kind) << damage.what;
        EXPECT_EQ(frame.problem, damage.problem) << damage.what;
    }
}

TEST(Frame, a_pad_count_larger_than_the_payload_is_malformed) {
    auto bytes =
        sample(Encapsulation::roce_v2_ipv4, opcode_of(Service::rc, Operation::acknowledge), 0);
    bytes[14 + 20 + 8 + 1] |= std::byte{0x30};
    EXPECT_EQ(parse_frame(LinkLayer::ethernet, bytes).problem,
              "a pad count larger than the payload");
}

TEST(Frame, the_older_pause_frame_is_understood_too) {
    std::vector<std::byte> bytes(60);
    write(Ethernet{kMacControlAddress, {}, {kEtherTypeMacControl}}, bytes);
    write(Pause{{Pause::kOpcode}, 99}, MutableBytes(bytes).subspan(Ethernet::kSize));
    const Frame frame = parse_frame(LinkLayer::ethernet, bytes);
    ASSERT_EQ(frame.kind, FrameKind::pause);
    EXPECT_EQ(frame.pause.quanta, 99);
    EXPECT_EQ(written(frame), bytes);
}

}  // namespace
}  // namespace tulle::wire
