// Headers of Ultra Ethernet's transport: the packet delivery sublayer (PDS) and, behind it, the
// semantic sublayer (SES).
//
// Layouts are those of two public sources, not read in the specification: xdp2-dev/xdp2,
// src/include/uet/pds.h and ses.h, and ultraethernet/uet-ref-prov, uet_pkt_hdr.h. Where those
// differ (ACK_CCX, NACK_CCX) nothing is here. docs/SPEC_MAP.md says what is guessed.
#pragma once

#include "wire/ids.h"
#include "wire/layout.h"

namespace tulle::wire {

inline constexpr uint16_t kUetPort = 4793;

enum class PdsType : uint8_t {
    security = 1,
    rud_request = 2,
    rod_request = 3,
    rudi_request = 4,
    rudi_response = 5,
    uud_request = 6,
    ack = 7,
    ack_cc = 8,
    ack_ccx = 9,
    nack = 10,
    control = 11,
    nack_ccx = 12,
    rud_cc_request = 13,
    rod_cc_request = 14,
};

// What follows the PDS header, but for control packets.
enum class SesHeader : uint8_t {
    none = 0,
    small_request = 1,
    medium_request = 2,
    standard_request = 3,
    response = 4,
    response_with_data = 5,
    response_with_small_data = 6,
};

enum class PdsControl : uint8_t {
    noop = 0,
    ack_request = 1,
    clear = 2,
    clear_request = 3,
    close = 4,
    close_request = 5,
    probe = 6,
    credit = 7,
    credit_request = 8,
    negotiation = 9,
};

enum class PdsNackCode : uint8_t {
    trimmed = 0x01,
    trimmed_at_last_hop = 0x02,
    trimmed_ack = 0x03,
    no_pdc = 0x04,
    no_congestion_context = 0x05,
    no_bitmap = 0x06,
    no_packet_buffer = 0x07,
    psn_outside_window = 0x0b,
    rod_out_of_order = 0x0d,
    bad_pdc = 0x0e,
    new_start_psn = 0x17,
    loss_inferred = 0x1a,
};

enum class SesOpcode : uint8_t {
    noop = 0,
    write = 1,
    read = 2,
    atomic = 3,
    fetching_atomic = 4,
    send = 5,
    rendezvous_send = 6,
    datagram = 7,
    deferrable_send = 8,
    tagged_send = 9,
};

// The first sixteen bits of each: which header this is, and which follows.
struct PdsPrologue {
    static constexpr size_t kSize = 2;
    uint8_t type = 0;
    uint8_t next = 0;  // SesHeader; of control packets PdsControl
    Bits8 flags;
    static constexpr auto kFields =
        fields(field<&PdsPrologue::type, 5>("type"), field<&PdsPrologue::next, 4>("next"),
               field<&PdsPrologue::flags, 7>("flags"));
};

// RUD and ROD.
struct PdsRequest {
    static constexpr size_t kSize = 12;
    uint8_t type = 0;
    uint8_t next = 0;
    uint8_t reserved_a = 0;
    bool retransmission = false;
    bool ack_request = false;
    bool syn = false;
    uint8_t reserved_b = 0;
    Bits16 clear_psn_offset;  // signed
    uint32_t psn = 0;
    Bits16 source_pdc;
    Bits16 dest_pdc;  // with SYN: four bits of information, twelve of the distance to the start PSN
    static constexpr auto kFields =
        fields(field<&PdsRequest::type, 5>("type"), field<&PdsRequest::next, 4>("next"),
               field<&PdsRequest::reserved_a, 2>("reserved_a"),
               field<&PdsRequest::retransmission, 1>("retransmission"),
               field<&PdsRequest::ack_request, 1>("ack_request"), field<&PdsRequest::syn, 1>("syn"),
               field<&PdsRequest::reserved_b, 2>("reserved_b"),
               field<&PdsRequest::clear_psn_offset, 16>("clear_psn_offset"),
               field<&PdsRequest::psn, 32>("psn"), field<&PdsRequest::source_pdc, 16>("source_pdc"),
               field<&PdsRequest::dest_pdc, 16>("dest_pdc"));
};

// Behind a request of a type with congestion control.
struct PdsRequestCc {
    static constexpr size_t kSize = 4;
    uint8_t context = 0;
    uint32_t credit_target = 0;
    static constexpr auto kFields =
        fields(field<&PdsRequestCc::context, 8>("context"),
               field<&PdsRequestCc::credit_target, 24>("credit_target"));
};

struct PdsAck {
    static constexpr size_t kSize = 12;
    uint8_t type = 0;
    uint8_t next = 0;
    bool reserved_a = false;
    bool marked = false;  // the packet that it answers was (ECN)
    bool retransmission = false;
    bool probe = false;
    uint8_t request = 0;  // 1: clear, 2: close
    bool reserved_b = false;
    Bits16 ack_psn_offset;  // signed: of the packet that it answers
    uint32_t cumulative_psn = 0;
    Bits16 source_pdc;
    Bits16 dest_pdc;
    static constexpr auto kFields = fields(
        field<&PdsAck::type, 5>("type"), field<&PdsAck::next, 4>("next"),
        field<&PdsAck::reserved_a, 1>("reserved_a"), field<&PdsAck::marked, 1>("marked"),
        field<&PdsAck::retransmission, 1>("retransmission"), field<&PdsAck::probe, 1>("probe"),
        field<&PdsAck::request, 2>("request"), field<&PdsAck::reserved_b, 1>("reserved_b"),
        field<&PdsAck::ack_psn_offset, 16>("ack_psn_offset"),
        field<&PdsAck::cumulative_psn, 32>("cumulative_psn"),
        field<&PdsAck::source_pdc, 16>("source_pdc"), field<&PdsAck::dest_pdc, 16>("dest_pdc"));
};

// Behind an ACK of the type with congestion control: which packets are here, and what is known of
// congestion, 64 bits whose meaning the type gives.
struct PdsAckCc {
    static constexpr size_t kSize = 12;
    uint8_t cc_type = 0;  // 0: NSCC, 1: credit
    Bits8 cc_flags;
    uint8_t most_packets = 0;  // MPR: that may be outstanding
    Bits16 sack_psn_offset;    // signed: of the lowest bit
    Key64 sack_bitmap;
    static constexpr auto kFields =
        fields(field<&PdsAckCc::cc_type, 4>("cc_type"), field<&PdsAckCc::cc_flags, 4>("cc_flags"),
               field<&PdsAckCc::most_packets, 8>("most_packets"),
               field<&PdsAckCc::sack_psn_offset, 16>("sack_psn_offset"),
               field<&PdsAckCc::sack_bitmap, 64>("sack_bitmap"));
};

struct PdsNsccState {
    static constexpr size_t kSize = 8;
    uint16_t service_time = 0;
    bool restore_window = false;
    uint8_t window_penalty = 0;
    uint32_t received_bytes = 0;
    uint16_t out_of_order = 0;
    static constexpr auto kFields =
        fields(field<&PdsNsccState::service_time, 16>("service_time"),
               field<&PdsNsccState::restore_window, 1>("restore_window"),
               field<&PdsNsccState::window_penalty, 7>("window_penalty"),
               field<&PdsNsccState::received_bytes, 24>("received_bytes"),
               field<&PdsNsccState::out_of_order, 16>("out_of_order"));
};

struct PdsCreditState {
    static constexpr size_t kSize = 8;
    uint32_t credit = 0;
    Bits32 reserved;
    uint16_t out_of_order = 0;
    static constexpr auto kFields =
        fields(field<&PdsCreditState::credit, 24>("credit"),
               field<&PdsCreditState::reserved, 24>("reserved"),
               field<&PdsCreditState::out_of_order, 16>("out_of_order"));
};

struct PdsNack {
    static constexpr size_t kSize = 16;
    uint8_t type = 0;
    uint8_t next = 0;
    bool reserved_a = false;
    bool marked = false;
    bool retransmission = false;
    bool of_rudi = false;
    uint8_t reserved_b = 0;
    Bits8 code;
    Bits8 vendor_code;
    uint32_t psn = 0;
    Bits16 source_pdc;
    Bits16 dest_pdc;
    Bits32 payload;
    static constexpr auto kFields =
        fields(field<&PdsNack::type, 5>("type"), field<&PdsNack::next, 4>("next"),
               field<&PdsNack::reserved_a, 1>("reserved_a"), field<&PdsNack::marked, 1>("marked"),
               field<&PdsNack::retransmission, 1>("retransmission"),
               field<&PdsNack::of_rudi, 1>("of_rudi"), field<&PdsNack::reserved_b, 3>("reserved_b"),
               field<&PdsNack::code, 8>("code"), field<&PdsNack::vendor_code, 8>("vendor_code"),
               field<&PdsNack::psn, 32>("psn"), field<&PdsNack::source_pdc, 16>("source_pdc"),
               field<&PdsNack::dest_pdc, 16>("dest_pdc"), field<&PdsNack::payload, 32>("payload"));
};

struct PdsControlPacket {
    static constexpr size_t kSize = 16;
    uint8_t type = 0;
    uint8_t control = 0;
    bool reserved_a = false;
    bool is_rod = false;
    bool retransmission = false;
    bool ack_request = false;
    bool syn = false;
    uint8_t reserved_b = 0;
    Bits16 probe_opaque;
    uint32_t psn = 0;
    Bits16 source_pdc;
    Bits16 dest_pdc;
    uint32_t payload = 0;  // of a grant: the count of credit
    static constexpr auto kFields = fields(
        field<&PdsControlPacket::type, 5>("type"), field<&PdsControlPacket::control, 4>("control"),
        field<&PdsControlPacket::reserved_a, 1>("reserved_a"),
        field<&PdsControlPacket::is_rod, 1>("is_rod"),
        field<&PdsControlPacket::retransmission, 1>("retransmission"),
        field<&PdsControlPacket::ack_request, 1>("ack_request"),
        field<&PdsControlPacket::syn, 1>("syn"),
        field<&PdsControlPacket::reserved_b, 2>("reserved_b"),
        field<&PdsControlPacket::probe_opaque, 16>("probe_opaque"),
        field<&PdsControlPacket::psn, 32>("psn"),
        field<&PdsControlPacket::source_pdc, 16>("source_pdc"),
        field<&PdsControlPacket::dest_pdc, 16>("dest_pdc"),
        field<&PdsControlPacket::payload, 32>("payload"));
};

// What all requests of the semantic sublayer begin with.
struct SesCommon {
    static constexpr size_t kSize = 12;
    uint8_t reserved_a = 0;
    Bits8 opcode;
    uint8_t version = 0;
    bool delivery_complete = false;
    bool initiator_error = false;
    bool relative_addressing = false;
    bool has_header_data = false;
    bool is_last = false;
    bool is_first = false;
    uint16_t message_id = 0;
    uint8_t index_generation = 0;
    uint32_t job_id = 0;
    uint8_t reserved_b = 0;
    uint16_t process = 0;  // PIDonFEP
    uint8_t reserved_c = 0;
    uint16_t resource_index = 0;
    static constexpr auto kFields = fields(
        field<&SesCommon::reserved_a, 2>("reserved_a"), field<&SesCommon::opcode, 6>("opcode"),
        field<&SesCommon::version, 2>("version"),
        field<&SesCommon::delivery_complete, 1>("delivery_complete"),
        field<&SesCommon::initiator_error, 1>("initiator_error"),
        field<&SesCommon::relative_addressing, 1>("relative_addressing"),
        field<&SesCommon::has_header_data, 1>("has_header_data"),
        field<&SesCommon::is_last, 1>("is_last"), field<&SesCommon::is_first, 1>("is_first"),
        field<&SesCommon::message_id, 16>("message_id"),
        field<&SesCommon::index_generation, 8>("index_generation"),
        field<&SesCommon::job_id, 24>("job_id"), field<&SesCommon::reserved_b, 4>("reserved_b"),
        field<&SesCommon::process, 12>("process"), field<&SesCommon::reserved_c, 4>("reserved_c"),
        field<&SesCommon::resource_index, 12>("resource_index"));
};

// Behind it, of the three sizes of requests.
struct SesStandard {
    static constexpr size_t kSize = 32;
    VirtualAddress buffer_offset;
    uint32_t initiator = 0;
    Key64 key_or_match_bits;
    Key64 header_data;  // but for the first packet: 16 reserved, 16 of payload length, 32 of offset
    uint32_t request_length = 0;
    static constexpr auto kFields =
        fields(field<&SesStandard::buffer_offset, 64>("buffer_offset"),
               field<&SesStandard::initiator, 32>("initiator"),
               field<&SesStandard::key_or_match_bits, 64>("key_or_match_bits"),
               field<&SesStandard::header_data, 64>("header_data"),
               field<&SesStandard::request_length, 32>("request_length"));
};

struct SesMedium {
    static constexpr size_t kSize = 20;
    Key64 header_data_or_offset;
    uint32_t initiator = 0;
    Key64 key_or_match_bits;
    static constexpr auto kFields =
        fields(field<&SesMedium::header_data_or_offset, 64>("header_data_or_offset"),
               field<&SesMedium::initiator, 32>("initiator"),
               field<&SesMedium::key_or_match_bits, 64>("key_or_match_bits"));
};

struct SesSmall {
    static constexpr size_t kSize = 8;
    VirtualAddress buffer_offset;
    static constexpr auto kFields = fields(field<&SesSmall::buffer_offset, 64>("buffer_offset"));
};

struct SesResponse {
    static constexpr size_t kSize = 12;
    uint8_t list = 0;  // 0: expected, 1: overflow
    Bits8 opcode;      // 0: default, 1: another, 2: with data, 3: none
    uint8_t version = 0;
    Bits8 return_code;  // 1: well
    uint16_t message_id = 0;
    uint8_t index_generation = 0;
    uint32_t job_id = 0;
    uint32_t modified_length = 0;
    static constexpr auto kFields =
        fields(field<&SesResponse::list, 2>("list"), field<&SesResponse::opcode, 6>("opcode"),
               field<&SesResponse::version, 2>("version"),
               field<&SesResponse::return_code, 6>("return_code"),
               field<&SesResponse::message_id, 16>("message_id"),
               field<&SesResponse::index_generation, 8>("index_generation"),
               field<&SesResponse::job_id, 24>("job_id"),
               field<&SesResponse::modified_length, 32>("modified_length"));
};

struct SesResponseWithData {
    static constexpr size_t kSize = 20;
    uint8_t list = 0;
    Bits8 opcode;
    uint8_t version = 0;
    Bits8 return_code;
    uint16_t message_id = 0;
    uint8_t index_generation = 0;
    uint32_t job_id = 0;
    uint16_t read_message_id = 0;
    uint8_t reserved = 0;
    uint16_t payload_length = 0;
    uint32_t modified_length = 0;
    uint32_t message_offset = 0;
    static constexpr auto kFields =
        fields(field<&SesResponseWithData::list, 2>("list"),
               field<&SesResponseWithData::opcode, 6>("opcode"),
               field<&SesResponseWithData::version, 2>("version"),
               field<&SesResponseWithData::return_code, 6>("return_code"),
               field<&SesResponseWithData::message_id, 16>("message_id"),
               field<&SesResponseWithData::index_generation, 8>("index_generation"),
               field<&SesResponseWithData::job_id, 24>("job_id"),
               field<&SesResponseWithData::read_message_id, 16>("read_message_id"),
               field<&SesResponseWithData::reserved, 4>("reserved"),
               field<&SesResponseWithData::payload_length, 12>("payload_length"),
               field<&SesResponseWithData::modified_length, 32>("modified_length"),
               field<&SesResponseWithData::message_offset, 32>("message_offset"));
};

}  // namespace tulle::wire
