#include "decode/uet_text.h"

#include <gtest/gtest.h>

#include <vector>

#include "decode/layers.h"
#include "decode/packet.h"

namespace tulle::decode {
namespace {

std::vector<std::byte> uet_frame(const wire::Packet& packet) {
    wire::Path path;
    path.source.gid = wire::gid_of(wire::Ipv4Address{{10, 0, 0, 1}});
    path.destination.gid = wire::gid_of(wire::Ipv4Address{{10, 0, 0, 2}});
    std::vector<std::byte> bytes(wire::kMaxEncodedSize);
    bytes.resize(wire::encode_uet(packet, path, wire::UetMode::rud, bytes));
    return bytes;
}

TEST(UetText, ultra_ethernet_is_named_and_shown) {
    wire::Packet packet;
    packet.opcode = wire::opcode_of(wire::Service::rc, wire::Operation::write_only);
    packet.set_psn(wire::Psn{7});
    packet.payload_length = 100;
    packet.extended.rdma = {0x1000, wire::RKey{0x22}, 100, 0, {}, {}};
    const auto bytes = uet_frame(packet);
    const wire::Frame frame = wire::parse_frame(wire::LinkLayer::ethernet, bytes);
    EXPECT_EQ(kind_name(frame), "uet");
    EXPECT_EQ(subject_text(frame), "UET_RUD_REQUEST");
    EXPECT_EQ(content_text(frame), "PSN 7, write, 100 of 100 bytes at 0x1000 key 0x22");
    const ShownLayers shown = layers_of(frame, ShowAs::text);
    ASSERT_EQ(shown.layers.size(), 6u);
    EXPECT_STREQ(shown.layers[3].name, "PDS request");
    EXPECT_STREQ(shown.layers[5].name, "SES standard");
}

TEST(UetText, a_datagram_to_the_port_of_ultra_ethernet_that_is_none_is_foreign) {
    auto bytes = uet_frame(wire::Packet{});
    bytes.resize(60);
    const wire::Frame frame = wire::parse_frame(wire::LinkLayer::ethernet, bytes);
    EXPECT_EQ(kind_name(frame), "foreign");
}

}  // namespace
}  // namespace tulle::decode
