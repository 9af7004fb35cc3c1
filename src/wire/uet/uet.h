// A packet of Ultra Ethernet, taken apart without loss, and ours in that form.
//
//   bytes  ── parse_uet ──>  UetPacket        the payload of UDP port 4793
//   bytes  <── write_uet ──  UetPacket  <── uet_of ──  Packet
//
// Our packets know less than UET's headers say. A queue pair stands for a PDC: its number, cut to
// sixteen bits, is the target's id; the initiator's is not in the packet, and shows as zero, as do
// job, process and index. A message's id is its first PSN. A trim NACK names the first packet that
// it is about, where ours may name several. What follows the payload is a CRC-32C of all before it
// (uet-ref-prov adds one where nothing is encrypted; what it covers is guessed).
#pragma once

#include <optional>
#include <string_view>

#include "wire/packet.h"
#include "wire/uet/headers.h"

namespace tulle::wire {

inline constexpr size_t kUetCrcSize = 4;
inline constexpr size_t kUetMaxHeaders = 76;  // ACK_CC with a standard request

struct UetPacket {
    PdsPrologue prologue;
    // Which of them are there the prologue says; for_each_uet_header() goes through them.
    PdsRequest request;
    PdsRequestCc request_cc;
    PdsAck ack;
    PdsAckCc ack_cc;
    PdsNsccState nscc;
    PdsCreditState credit;
    PdsNack nack;
    PdsControlPacket control;
    SesCommon ses;
    SesStandard standard;
    SesMedium medium;
    SesSmall small;
    SesResponse response;
    SesResponseWithData response_with_data;
    Bytes payload;

    PdsType type() const { return static_cast<PdsType>(prologue.type); }
    bool is_request() const;
    // What follows the PDS header.
    SesHeader ses_header() const;
};

// Calls visit(name, header) for each header in wire order. False if the type is none of those whose
// layout is known: security, RUDI, UUD, CCX.
template <class P, class Visitor>
bool for_each_uet_header(P& packet, Visitor&& visit);

// The payload of a UDP datagram, with the CRC at its end. Nothing if it is no packet that is known,
// or shorter than its headers.
std::optional<UetPacket> parse_uet(Bytes bytes);
// All headers, the payload, and the CRC over both; returns how many bytes.
size_t write_uet(const UetPacket& packet, MutableBytes bytes);

// As delivery is ordered (ROD) or not (RUD).
enum class UetMode : uint8_t { rud, rod };
// A transport packet of ours; modelled payload shows as zeros.
UetPacket uet_of(const Packet& packet, UetMode mode);
// The whole frame: Ethernet, IP, UDP, and that. The caller has made room; returns how many bytes.
size_t encode_uet(const Packet& packet, const Path& path, UetMode mode, MutableBytes bytes);

std::string_view pds_name(const UetPacket& packet);  // RUD_REQUEST, ACK_CC, CREDIT
std::string_view nack_reason(PdsNackCode code);      // empty if it has no name here
std::string_view ses_name(SesOpcode opcode);

// ---------------------------------------------------------------------------------------------

template <class P, class Visitor>
bool for_each_uet_header(P& packet, Visitor&& visit) {
    switch (packet.type()) {
        case PdsType::rud_request:
        case PdsType::rod_request: visit("PDS request", packet.request); break;
        case PdsType::rud_cc_request:
        case PdsType::rod_cc_request:
            visit("PDS request", packet.request);
            visit("PDS request CC", packet.request_cc);
            break;
        case PdsType::ack: visit("PDS ACK", packet.ack); break;
        case PdsType::ack_cc:
            visit("PDS ACK", packet.ack);
            visit("PDS ACK CC", packet.ack_cc);
            if (packet.ack_cc.cc_type == 1)
                visit("PDS credit", packet.credit);
            else
                visit("PDS NSCC", packet.nscc);
            break;
        case PdsType::nack: visit("PDS NACK", packet.nack); break;
        case PdsType::control: visit("PDS control", packet.control); return true;
        default: return false;
    }
    switch (packet.ses_header()) {
        case SesHeader::none: return true;
        case SesHeader::small_request:
            visit("SES request", packet.ses);
            visit("SES small", packet.small);
            return true;
        case SesHeader::medium_request:
            visit("SES request", packet.ses);
            visit("SES medium", packet.medium);
            return true;
        case SesHeader::standard_request:
            visit("SES request", packet.ses);
            visit("SES standard", packet.standard);
            return true;
        case SesHeader::response: visit("SES response", packet.response); return true;
        case SesHeader::response_with_data:
            visit("SES response with data", packet.response_with_data);
            return true;
        default: return false;
    }
}

}  // namespace tulle::wire
