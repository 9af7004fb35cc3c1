#include "decode/link_type.h"

#include <gtest/gtest.h>
#include <pcap/dlt.h>

#include <algorithm>

#include "decode/facts.h"
#include "decode/packet.h"

namespace tulle::decode {
namespace {

// An InfiniBand packet: SEND only from LID 1 to LID 2 with four bytes, and correct ICRC and VCRC.
std::vector<std::byte> infiniband_packet() {
    wire::Frame frame;
    frame.kind = wire::FrameKind::transport;
    frame.link = wire::LinkLayer::infiniband;
    frame.has_link_header = true;
    frame.has_vcrc = true;
    frame.encapsulation = wire::Encapsulation::infiniband_local;
    frame.lrh.source = wire::Lid{1};
    frame.lrh.destination = wire::Lid{2};
    frame.lrh.packet_words = 7;
    frame.transport.bth.opcode.value =
        wire::opcode_of(wire::Service::rc, wire::Operation::send_only);
    const std::array<std::byte, 4> payload{};
    frame.payload = payload;
    std::vector<std::byte> bytes(wire::frame_size(frame));
    wire::write_frame(frame, bytes);
    frame.icrc.value = wire::expected_icrc(frame, bytes);
    wire::write_frame(frame, bytes);
    frame.vcrc.value = wire::expected_vcrc(frame, bytes);
    wire::write_frame(frame, bytes);
    return bytes;
}

std::vector<std::byte> erf_record(uint8_t type, const std::vector<std::byte>& packet, size_t pad) {
    const size_t size = 16 + packet.size() + pad;
    std::vector<std::byte> record(size);
    record[8] = std::byte{type};
    record[10] = static_cast<std::byte>(size >> 8);
    record[11] = static_cast<std::byte>(size);
    record[15] = static_cast<std::byte>(packet.size());
    std::copy(packet.begin(), packet.end(), record.begin() + 16);
    return record;
}

TEST(LinkType, infiniband_lies_in_a_capture_as_it_is_or_behind_an_erf_header) {
    const auto packet = infiniband_packet();
    const auto erf = erf_record(21, packet, 6);
    std::vector<std::byte> scratch;
    for (const Unwrapped& unwrapped : {unwrap(DLT_INFINIBAND, packet, packet.size(), scratch),
                                       unwrap(DLT_ERF, erf, erf.size(), scratch)}) {
        const wire::Frame frame = parse(unwrapped);
        EXPECT_EQ(kind_name(frame), "infiniband");
        EXPECT_EQ(to_string(source_of(frame)), "lid 1");
        const Checksums checksums = check(frame, unwrapped.bytes);
        EXPECT_EQ(checksums.icrc, true);
        EXPECT_EQ(checksums.vcrc, true);
    }
}

TEST(LinkType, a_changed_virtual_lane_breaks_the_vcrc_alone) {
    auto packet = infiniband_packet();
    packet[0] = std::byte{0x30};
    std::vector<std::byte> scratch;
    const Unwrapped unwrapped = unwrap(DLT_INFINIBAND, packet, packet.size(), scratch);
    const Checksums checksums = check(parse(unwrapped), unwrapped.bytes);
    EXPECT_EQ(checksums.icrc, true);
    EXPECT_EQ(checksums.vcrc, false);
}

TEST(LinkType, a_flow_control_packet_carries_its_own_checksum) {
    std::vector<std::byte> packet(6);
    packet[1] = std::byte{0x10};
    const uint16_t crc = wire::vcrc(wire::Bytes(packet).first(4));
    packet[4] = static_cast<std::byte>(crc);
    packet[5] = static_cast<std::byte>(crc >> 8);
    std::vector<std::byte> scratch;
    const Unwrapped right = unwrap(DLT_INFINIBAND, packet, packet.size(), scratch);
    EXPECT_EQ(check(parse(right), right.bytes).lpcrc, true);
    packet[5] ^= std::byte{1};
    EXPECT_EQ(check(parse(right), right.bytes).lpcrc, false);
}

TEST(LinkType, records_too_short_for_their_wrapping_are_foreign_and_say_why) {
    const std::vector<std::byte> few(7);
    std::vector<std::byte> endless = erf_record(21, {}, 0);
    endless[8] |= std::byte{0x80};  // an extension header should follow
    std::vector<std::byte> scratch;
    EXPECT_EQ(unwrap(DLT_ERF, few, 7, scratch).problem, "shorter than an ERF record header");
    EXPECT_EQ(unwrap(DLT_ERF, endless, endless.size(), scratch).problem,
              "an ERF extension header that is cut");
    const wire::Frame frame = parse(unwrap(DLT_LINUX_SLL, few, 7, scratch));
    EXPECT_EQ(frame.kind, wire::FrameKind::foreign);
    EXPECT_EQ(frame.problem, "shorter than a Linux cooked capture header");
}

TEST(LinkType, a_made_up_ethernet_header_is_not_shown) {
    std::vector<std::byte> ip(20, std::byte{0});
    ip[0] = std::byte{0x45};
    std::vector<std::byte> scratch;
    const Unwrapped unwrapped = unwrap(DLT_RAW, ip, ip.size(), scratch);
    EXPECT_TRUE(unwrapped.made_up_ethernet);
    const wire::Frame frame = parse(unwrapped);
    EXPECT_FALSE(frame.has_link_header);
    EXPECT_EQ(frame.network, wire::NetworkHeader::ipv4);
}

}  // namespace
}  // namespace tulle::decode
