#include "transport/loss/reorder_buffer.h"

#include <gtest/gtest.h>

#include <array>

namespace tulle::transport {
namespace {

using wire::Psn;

wire::Packet packet_of(Psn psn) {
    wire::Packet packet;
    packet.set_psn(psn);
    return packet;
}

TEST(ReorderBuffer, keeps_a_packet_with_its_bytes_until_its_turn) {
    ReorderBuffer buffer(4);
    std::array bytes = {std::byte{1}, std::byte{2}};
    wire::Packet packet = packet_of(Psn{7});
    packet.payload = wire::Payload::memory(bytes.data());
    packet.payload_length = 2;
    EXPECT_EQ(buffer.keep(packet, Psn{5}), Arrival::early);
    bytes = {};
    EXPECT_FALSE(buffer.take(Psn{6}));
    const auto taken = buffer.take(Psn{7});
    ASSERT_TRUE(taken);
    EXPECT_EQ(taken->payload.address()[1], std::byte{2});
    EXPECT_TRUE(buffer.empty());
    EXPECT_FALSE(buffer.take(Psn{7}));
}

TEST(ReorderBuffer, refuses_what_is_too_far_and_what_it_has) {
    ReorderBuffer buffer(4);
    EXPECT_EQ(buffer.keep(packet_of(Psn{9}), Psn{5}), Arrival::too_far);
    EXPECT_EQ(buffer.keep(packet_of(Psn{9}), Psn{6}), Arrival::early);
    EXPECT_EQ(buffer.keep(packet_of(Psn{9}), Psn{6}), Arrival::known);
    buffer.clear();
    EXPECT_TRUE(buffer.empty());
    EXPECT_EQ(buffer.keep(packet_of(Psn{9}), Psn{6}), Arrival::early);
}

TEST(ReorderBuffer, psns_around_their_end_have_their_places) {
    ReorderBuffer buffer(256);
    const Psn expected{0xff'fff0};
    for (uint32_t i = 1; i < 256; ++i)
        EXPECT_EQ(buffer.keep(packet_of(wire::psn_plus(expected, i)), expected), Arrival::early);
    for (uint32_t i = 1; i < 256; ++i) EXPECT_TRUE(buffer.take(wire::psn_plus(Psn{0xff'fff0}, i)));
    EXPECT_TRUE(buffer.empty());
}

}  // namespace
}  // namespace tulle::transport
