#include "wire/packet.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "wire/testing.h"

namespace tulle::wire {
namespace {

using testing::kEncapsulations;
using testing::known_opcodes;
using testing::link_of;
using testing::Random;

std::vector<std::byte> encoded(const Packet& packet, const Path& path, Bytes payload) {
    std::vector<std::byte> bytes(kMaxEncodedSize);
    bytes.resize(encode(packet, path, payload, bytes));
    return bytes;
}

TEST(Packet, every_opcode_survives_every_encapsulation_byte_for_byte) {
    Random random(1);
    for (const Encapsulation encapsulation : kEncapsulations)
        for (const uint8_t opcode : known_opcodes())
            for (const size_t length : {0u, 1u, 2u, 3u, 4u, 1000u, 4096u}) {
                SCOPED_TRACE(opcode_name(opcode) + " encapsulation " +
                             std::to_string(static_cast<int>(encapsulation)) + " length " +
                             std::to_string(length));
                const auto payload = testing::random_bytes(random, length);
                const Packet packet = testing::random_packet(random, opcode, payload);
                Path path = testing::sample_path(encapsulation);
                path.has_vlan =
                    link_of(path.encapsulation) == LinkLayer::ethernet && length % 2 == 1;
                path.vlan_id = path.has_vlan ? 100 : 0;
                const auto bytes =
                    encoded(packet, path, Bytes(payload).first(packet.payload_length));

                const Frame frame = parse_frame(link_of(path.encapsulation), bytes);
                ASSERT_EQ(frame.kind, FrameKind::transport) << frame.problem;
                EXPECT_TRUE(frame.trailer.empty());
                EXPECT_EQ(frame.icrc.value, expected_icrc(frame, bytes));
                EXPECT_EQ(frame.payload.size(), packet.payload_length);

                const Packet again = packet_of(frame);
                EXPECT_EQ(again.psn(), packet.psn());
                EXPECT_EQ(again.dest_qp(), packet.dest_qp());
                EXPECT_EQ(encoded(again, path_of(frame), frame.payload), bytes);
            }
}

TEST(Packet, modelled_payload_becomes_zeros_on_the_wire) {
    Packet packet;
    packet.opcode = opcode_of(Service::rc, Operation::send_only);
    packet.payload_length = 5;
    const auto bytes = encoded(packet, testing::sample_path(Encapsulation::roce_v2_ipv4), {});
    const Frame frame = parse_frame(LinkLayer::ethernet, bytes);
    ASSERT_EQ(frame.payload.size(), 5u);
    EXPECT_EQ(frame.pad.size(), 3u);
    for (const std::byte byte : frame.payload) EXPECT_EQ(byte, std::byte{0});
}

TEST(Packet, a_pfc_frame_fills_the_smallest_ethernet_frame) {
    Packet packet;
    packet.kind = PacketKind::pfc;
    packet.extended.pause = {{0, 0, 0, 0xffff, 0, 0, 0, 7}, 0x88};
    const Path path = testing::sample_path(Encapsulation::roce_v2_ipv4);
    const auto bytes = encoded(packet, path, {});
    ASSERT_EQ(bytes.size(), kEthernetMinimumSize);
    const Frame frame = parse_frame(LinkLayer::ethernet, bytes);
    ASSERT_EQ(frame.kind, FrameKind::pfc);
    EXPECT_EQ(frame.ethernet.destination, kMacControlAddress);
    EXPECT_EQ(frame.ethernet.source, path.source.mac);
    const Packet again = packet_of(frame);
    EXPECT_EQ(again.kind, PacketKind::pfc);
    EXPECT_EQ(again.extended.pause.enable_vector, 0x88);
    EXPECT_EQ(again.extended.pause.quanta[3], 0xffff);
}

TEST(Packet, a_flow_control_packet_is_six_bytes_with_its_own_crc) {
    Packet packet;
    packet.kind = PacketKind::flow_control;
    packet.virtual_lane = 3;
    packet.extended.credit = {0x123, 0xabc, FlowControl::kNormal};
    const auto bytes = encoded(packet, {}, {});
    ASSERT_EQ(bytes.size(), FlowControl::kSize);
    const Frame frame = parse_frame(LinkLayer::infiniband, bytes);
    ASSERT_EQ(frame.kind, FrameKind::flow_control);
    EXPECT_EQ(frame.flow_control.lpcrc, expected_lpcrc(frame.flow_control));
    const Packet again = packet_of(frame);
    EXPECT_EQ(again.virtual_lane, 3u);
    EXPECT_EQ(again.extended.credit.total_blocks_sent, 0x123);
    EXPECT_EQ(again.extended.credit.credit_limit, 0xabc);
}

TEST(Packet, a_congestion_notification_is_78_bytes_with_its_frame_check_sequence) {
    Packet packet;
    packet.opcode = kCnpOpcode;
    packet.becn = true;
    const auto bytes = encoded(packet, testing::sample_path(Encapsulation::roce_v2_ipv4), {});
    EXPECT_EQ(bytes.size() + 4, 78u);
}

TEST(Payload, says_where_the_bytes_are) {
    const std::byte byte{};
    EXPECT_TRUE(Payload().is_modelled());
    EXPECT_EQ(Payload::memory(&byte).address(), &byte);
}

}  // namespace
}  // namespace tulle::wire
