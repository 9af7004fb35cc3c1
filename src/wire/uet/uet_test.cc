#include "wire/uet/uet.h"

#include <gtest/gtest.h>

#include <vector>

#include "wire/syndrome.h"

namespace tulle::wire {
namespace {

std::vector<std::byte> written(const UetPacket& packet) {
    std::vector<std::byte> bytes(kMaxPayload + kUetMaxHeaders + kUetCrcSize);
    bytes.resize(write_uet(packet, bytes));
    return bytes;
}

Packet write_packet(Operation operation, uint32_t index, uint32_t length) {
    Packet packet;
    packet.opcode = opcode_of(Service::rc, operation);
    packet.set_psn(Psn{0x1000 + index});
    packet.set_dest_qp(Qpn{0xab'1234});
    packet.srq_or_ee = index;
    packet.payload_length = length;
    packet.entropy = 0xc001;
    packet.extended.rdma = {0x7000'0000 + uint64_t{index} * 4096, RKey{77}, 10'000, 0, {}, {}};
    return packet;
}

Packet selective(SelectiveAck::Tells tells) {
    Packet packet;
    packet.opcode = opcode_of(Service::rc, Operation::acknowledge);
    packet.set_psn(Psn{0x0fff});
    packet.srq_or_ee = 0x1003;
    packet.becn = true;
    packet.payload_length = SelectiveAck::kBytes;
    packet.extended.ack = {0, 5, syndrome_of(AckKind::ack, kNoCredits), {}};
    packet.extended.ack.selective.first_psn = 0x1002;
    packet.extended.ack.selective.tells = static_cast<uint32_t>(tells);
    packet.extended.ack.selective.bits = 0b11;
    return packet;
}

// Sizes as two public sources have them: RUD 12, with congestion control 16, ACK_CC 32, NACK and
// control 16; SES 44, 32, 20, response 12 and 20.
TEST(uet, headers_have_the_sizes_of_their_sources) {
    EXPECT_EQ(PdsRequest::kSize, 12u);
    EXPECT_EQ(PdsRequest::kSize + PdsRequestCc::kSize, 16u);
    EXPECT_EQ(PdsAck::kSize + PdsAckCc::kSize + PdsNsccState::kSize, 32u);
    EXPECT_EQ(PdsNsccState::kSize, PdsCreditState::kSize);
    EXPECT_EQ(PdsNack::kSize, 16u);
    EXPECT_EQ(PdsControlPacket::kSize, 16u);
    EXPECT_EQ(SesCommon::kSize + SesStandard::kSize, 44u);
    EXPECT_EQ(SesCommon::kSize + SesMedium::kSize, 32u);
    EXPECT_EQ(SesCommon::kSize + SesSmall::kSize, 20u);
    EXPECT_EQ(SesResponse::kSize, 12u);
    EXPECT_EQ(SesResponseWithData::kSize, 20u);
}

TEST(uet, a_write_is_a_request_that_says_where_its_data_goes) {
    const auto bytes =
        written(uet_of(write_packet(Operation::write_middle, 1, 4096), UetMode::rud));
    EXPECT_EQ(bytes.size(), 12u + 44 + 4096 + 4);
    EXPECT_EQ(std::to_integer<int>(bytes[0]) >> 3, 2);  // RUD request
    const auto packet = parse_uet(bytes);
    ASSERT_TRUE(packet);
    EXPECT_EQ(written(*packet), bytes);  // the CRC too
    EXPECT_EQ(pds_name(*packet), "RUD_REQUEST");
    EXPECT_EQ(packet->request.psn, 0x1001u);
    EXPECT_EQ(packet->request.dest_pdc.value, 0x1234);
    EXPECT_EQ(packet->ses.opcode.value, static_cast<uint8_t>(SesOpcode::write));
    EXPECT_EQ(packet->ses.message_id, 0x1000);
    EXPECT_FALSE(packet->ses.is_first || packet->ses.is_last);
    EXPECT_EQ(packet->standard.buffer_offset.value, 0x7000'1000u);
    EXPECT_EQ(packet->standard.key_or_match_bits.value, 77u);
    EXPECT_EQ(packet->standard.header_data.value, uint64_t{4096} << 32 | 4096);
    EXPECT_EQ(packet->standard.request_length, 10'000u);
    EXPECT_EQ(packet->payload.size(), 4096u);
}

TEST(uet, demand_for_credit_makes_it_one_with_congestion_control) {
    Packet write = write_packet(Operation::write_only, 0, 64);
    write.extended.rdma.qkey.value = 0x01'00'1234;  // and it asks
    const auto packet = parse_uet(written(uet_of(write, UetMode::rud)));
    ASSERT_TRUE(packet);
    EXPECT_EQ(pds_name(*packet), "RUD_CC_REQUEST");
    EXPECT_EQ(packet->request_cc.credit_target, 0x1234u);
    EXPECT_TRUE(packet->ses.is_first && packet->ses.is_last);
}

TEST(uet, a_grant_is_a_control_packet) {
    Packet grant;
    grant.opcode = kCnpOpcode;
    grant.extended.ack = {0, 640, 0, {}};
    const auto packet = parse_uet(written(uet_of(grant, UetMode::rud)));
    ASSERT_TRUE(packet);
    EXPECT_EQ(pds_name(*packet), "CREDIT");
    EXPECT_EQ(packet->control.payload, 640u);
}

TEST(uet, an_answer_tells_what_is_here_beyond_the_count) {
    const auto bytes = written(uet_of(selective(SelectiveAck::Tells::received), UetMode::rud));
    EXPECT_EQ(bytes.size(), 32u + 12 + 4);
    const auto packet = parse_uet(bytes);
    ASSERT_TRUE(packet);
    EXPECT_EQ(pds_name(*packet), "ACK_CC");
    EXPECT_TRUE(packet->ack.marked);
    EXPECT_EQ(packet->ack.cumulative_psn, 0x0fffu);
    EXPECT_EQ(packet->ack.ack_psn_offset.value, 4);
    EXPECT_EQ(packet->ack_cc.sack_psn_offset.value, 3);
    EXPECT_EQ(packet->ack_cc.sack_bitmap.value, 3u);
    EXPECT_EQ(packet->nscc.out_of_order, 2);
}

TEST(uet, what_was_trimmed_or_came_out_of_order_is_a_nack) {
    const auto trimmed =
        parse_uet(written(uet_of(selective(SelectiveAck::Tells::trimmed), UetMode::rud)));
    ASSERT_TRUE(trimmed);
    EXPECT_EQ(pds_name(*trimmed), "NACK");
    EXPECT_EQ(trimmed->nack.psn, 0x1002u);
    EXPECT_EQ(nack_reason(static_cast<PdsNackCode>(trimmed->nack.code.value)), "trimmed");
    Packet nak = selective(SelectiveAck::Tells::received);
    nak.payload_length = 0;
    nak.extended.ack.syndrome = syndrome_of(NakCode::psn_sequence_error);
    const auto gap = parse_uet(written(uet_of(nak, UetMode::rod)));
    ASSERT_TRUE(gap);
    EXPECT_EQ(gap->nack.code.value, 0x0d);
}

TEST(uet, a_whole_frame_is_a_datagram_to_its_port) {
    Path path;
    path.source.gid = gid_of(Ipv4Address{{10, 0, 0, 1}});
    path.destination.gid = gid_of(Ipv4Address{{10, 0, 0, 2}});
    std::vector<std::byte> bytes(kMaxEncodedSize);
    const Packet write = write_packet(Operation::write_first, 0, 4096);
    bytes.resize(encode_uet(write, path, UetMode::rud, bytes));
    EXPECT_EQ(bytes.size(), 14u + 20 + 8 + 12 + 44 + 4096 + 4);
    const Frame frame = parse_frame(LinkLayer::ethernet, bytes);
    EXPECT_TRUE(frame.has_udp);
    EXPECT_EQ(frame.udp.destination_port, kUetPort);
    EXPECT_EQ(frame.udp.source_port, 0xc001);
    EXPECT_EQ(frame.udp.length, 8 + 12 + 44 + 4096 + 4);
    EXPECT_EQ(ipv4_checksum(Bytes(bytes).subspan(14, 20)), 0);
    EXPECT_TRUE(parse_uet(frame.trailer));
}

TEST(uet, what_is_too_short_or_unknown_is_no_packet) {
    const auto bytes = written(uet_of(write_packet(Operation::write_only, 0, 0), UetMode::rud));
    for (size_t size = 0; size < bytes.size(); ++size)
        EXPECT_FALSE(parse_uet(Bytes(bytes).first(size))) << size;
    std::vector<std::byte> unknown(64);
    unknown[0] = std::byte{0xf8};
    EXPECT_FALSE(parse_uet(unknown));
}

// Every bit that is parsed is written again, whatever it says.
TEST(uet, parsing_and_writing_lose_nothing) {
    uint64_t state = 1;
    for (int i = 0; i < 2'000; ++i) {
        std::vector<std::byte> bytes(16 + i % 80);
        for (std::byte& byte : bytes) {
            state = state * 6'364'136'223'846'793'005 + 1'442'695'040'888'963'407;
            byte = static_cast<std::byte>(state >> 56);
        }
        const auto packet = parse_uet(bytes);
        if (!packet) continue;
        const auto again = written(*packet);
        ASSERT_EQ(again.size(), bytes.size());
        EXPECT_TRUE(std::equal(again.begin(), again.end() - kUetCrcSize, bytes.begin()));
    }
}

}  // namespace
}  // namespace tulle::wire
