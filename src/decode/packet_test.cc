#include "decode/packet.h"

#include <gtest/gtest.h>

#include "decode/fields.h"
#include "wire/syndrome.h"

namespace tulle::decode {
namespace {

wire::Frame answer(uint8_t syndrome) {
    wire::Frame frame;
    frame.kind = wire::FrameKind::transport;
    frame.network = wire::NetworkHeader::ipv4;
    frame.transport.bth.opcode.value =
        wire::opcode_of(wire::Service::rc, wire::Operation::acknowledge);
    frame.transport.bth.psn.value = 0xabc;
    frame.transport.aeth = {{syndrome}, 7};
    return frame;
}

Packet shown_packet(const wire::Frame& frame) {
    return {{}, frame, {}, {}};
}

TEST(Packet, acknowledgements_are_told_in_words) {
    EXPECT_EQ(content_text(answer(wire::syndrome_of(wire::AckKind::ack, wire::kNoCredits))),
              "ACK, MSN 7");
    EXPECT_EQ(content_text(answer(wire::syndrome_of(wire::AckKind::ack, 4))),
              "ACK, MSN 7, 4 credits");
    EXPECT_EQ(nak_text(answer(wire::syndrome_of(wire::NakCode::psn_sequence_error))),
              "NAK: PSN sequence error, expects PSN 0x000abc");
    EXPECT_EQ(nak_text(answer(wire::syndrome_of(wire::AckKind::rnr_nak, 12))),
              "RNR NAK: wait 0.64 ms");
    EXPECT_EQ(nak_name(answer(wire::syndrome_of(wire::AckKind::ack, 0))), "");
}

TEST(Packet, what_deserves_attention_is_noted) {
    wire::Frame frame = answer(wire::syndrome_of(wire::AckKind::ack, 0));
    frame.ipv4.ecn = 3;
    frame.transport.bth.becn = true;
    Packet packet = shown_packet(frame);
    packet.checksums.icrc = false;
    packet.noticed.psn_gap = 3;
    EXPECT_EQ(notes_of(packet),
              (std::vector<std::string>{"BAD ICRC", "PSN gap of 3", "ECN CE", "BECN"}));
}

TEST(Packet, pause_frames_name_their_priorities) {
    wire::Frame frame;
    frame.kind = wire::FrameKind::pfc;
    frame.pfc.enable_vector.value = 0b1001;
    frame.pfc.quanta[3] = 65535;
    EXPECT_EQ(content_text(frame), "priority 0: go on, priority 3: stop 65535 quanta");
}

TEST(Packet, fields_are_written_by_their_type) {
    EXPECT_EQ(field_text(wire::Qpn{0x22}), "0x000022");
    EXPECT_EQ(field_text(wire::RKey{0x22}), "0x00000022");
    EXPECT_EQ(field_text(wire::Lid{22}), "22");
    EXPECT_EQ(field_text(wire::Ipv4Address{{10, 0, 0, 1}}), "10.0.0.1");
    EXPECT_EQ(field_text(true), "1");
    EXPECT_EQ(field_text(uint8_t{65}), "65");
    EXPECT_EQ(field_text(std::array<uint8_t, 3>{1, 2, 0xff}), "0102ff");
    EXPECT_EQ(field_text(std::array<uint16_t, 2>{1, 500}), "1 500");
    EXPECT_EQ(field_text(wire::Aeth{{0x1f}, 7}), "{syndrome 0x1f, msn 7}");
    EXPECT_EQ(field_json(wire::Qpn{0x22}), 0x22);
    EXPECT_EQ(field_json(wire::VirtualAddress{0xffff'ffff'ffff'ffff}), "0xffffffffffffffff");
    EXPECT_EQ(field_json(wire::MacAddress{{2, 0, 0, 0, 0, 1}}), "02:00:00:00:00:01");
}

}  // namespace
}  // namespace tulle::decode
