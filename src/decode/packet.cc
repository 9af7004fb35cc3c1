#include "decode/packet.h"

#include <fmt/format.h>

#include "decode/mad_text.h"
#include "decode/uet_text.h"
#include "wire/syndrome.h"

namespace tulle::decode {
namespace {

using enum wire::Operation;

bool is_nak(const wire::Frame& frame) {
    return frame.kind == wire::FrameKind::transport && frame.transport.has(wire::kAeth) &&
           wire::ack_kind(frame.transport.aeth.syndrome.value) != wire::AckKind::ack;
}

std::string ack_text(const wire::Aeth& aeth) {
    const uint8_t code = wire::ack_code(aeth.syndrome.value);
    if (code == wire::kNoCredits) return fmt::format("ACK, MSN {}", aeth.msn);
    return fmt::format("ACK, MSN {}, {} credits", aeth.msn, wire::credits_of(code));
}

std::string remote_text(const wire::Reth& reth, std::string_view preposition) {
    return fmt::format("{} 0x{:x} rkey 0x{:x}", preposition, reth.virtual_address.value,
                       reth.rkey.value);
}

std::string atomic_text(const wire::AtomicEth& atomic, wire::Operation operation) {
    const std::string where =
        fmt::format("at 0x{:x} rkey 0x{:x}", atomic.virtual_address.value, atomic.rkey.value);
    if (operation == fetch_add)
        return fmt::format("add 0x{:x} {}", atomic.swap_or_add.value, where);
    return fmt::format("if 0x{:x} write 0x{:x} {}", atomic.compare.value, atomic.swap_or_add.value,
                       where);
}

std::string flush_text(const wire::TransportHeaders& headers) {
    const uint8_t placement = headers.feth.placement.value;
    return fmt::format("flush {} {}{}{}",
                       headers.feth.selectivity == 0
                           ? fmt::format("{} bytes", headers.reth.dma_length)
                           : "the whole region",
                       remote_text(headers.reth, "at"), (placement & 1) != 0 ? ", visible" : "",
                       (placement & 2) != 0 ? ", persistent" : "");
}

std::string data_text(const wire::Frame& frame) {
    const wire::TransportHeaders& headers = frame.transport;
    const uint32_t bytes = payload_bytes(frame);
    std::string text = is_mad(frame) ? mad_text(frame.payload) : fmt::format("{} bytes", bytes);
    if (headers.has(wire::kReth)) {
        if (headers.reth.dma_length != bytes)
            text = fmt::format("{} of {} bytes", bytes, headers.reth.dma_length);
        text.append(" ").append(remote_text(headers.reth, "to"));
    }
    if (headers.has(wire::kDeth) && !is_mad(frame))
        text += fmt::format(" from QP 0x{:06x}", headers.deth.source_qp.value);
    if (headers.has(wire::kImmDt))
        text += fmt::format(", immediate 0x{:08x}", headers.imm_dt.immediate.value);
    if (headers.has(wire::kIeth))
        text += fmt::format(", invalidates rkey 0x{:x}", headers.ieth.rkey.value);
    return text;
}

std::string transport_text(const wire::Frame& frame) {
    const wire::TransportHeaders& headers = frame.transport;
    if (headers.opcode() == wire::kCnpOpcode) return "congestion notification";
    if (!headers.info().known) return fmt::format("{} bytes", payload_bytes(frame));
    if (is_nak(frame)) return {};
    switch (wire::operation_of(headers.opcode())) {
        case acknowledge: return ack_text(headers.aeth);
        case atomic_acknowledge:
            return fmt::format("was 0x{:x}", headers.atomic_ack_eth.original.value);
        case read_request:
            return fmt::format("{} bytes {}", headers.reth.dma_length,
                               remote_text(headers.reth, "from"));
        case compare_swap:
        case fetch_add:
            return atomic_text(headers.atomic_eth, wire::operation_of(headers.opcode()));
        case flush: return flush_text(headers);
        default: return data_text(frame);
    }
}

std::string pfc_text(const wire::Pfc& pfc) {
    std::string text;
    for (size_t priority = 0; priority < pfc.quanta.size(); ++priority) {
        if ((pfc.enable_vector.value >> priority & 1) == 0) continue;
        const std::string what = pfc.quanta[priority] == 0
                                     ? "go on"
                                     : fmt::format("stop {} quanta", pfc.quanta[priority]);
        text += fmt::format("{}priority {}: {}", text.empty() ? "" : ", ", priority, what);
    }
    return text.empty() ? "no priority" : text;
}

std::string flow_control_text(const wire::FlowControl& flow) {
    return fmt::format("VL {}: {} blocks sent, credit limit {}{}", flow.virtual_lane,
                       flow.total_blocks_sent, flow.credit_limit,
                       flow.operation == wire::FlowControl::kInit ? ", initial" : "");
}

std::vector<std::string> checksum_notes(const Packet& packet) {
    std::vector<std::string> notes;
    if (packet.checksums.icrc == false) notes.emplace_back("BAD ICRC");
    if (packet.checksums.vcrc == false) notes.emplace_back("BAD VCRC");
    if (packet.checksums.lpcrc == false) notes.emplace_back("BAD LPCRC");
    return notes;
}

}  // namespace

std::string_view kind_name(const wire::Frame& frame) {
    switch (frame.kind) {
        case wire::FrameKind::transport: break;
        case wire::FrameKind::flow_control: return "flow_control";
        case wire::FrameKind::pfc: return "pfc";
        case wire::FrameKind::pause: return "pause";
        case wire::FrameKind::foreign: return uet_packet(frame) ? "uet" : "foreign";
        case wire::FrameKind::malformed: return "malformed";
    }
    if (frame.link == wire::LinkLayer::infiniband) return "infiniband";
    return frame.encapsulation == wire::Encapsulation::roce_v1 ? "roce_v1" : "roce_v2";
}

std::string subject_text(const wire::Frame& frame) {
    switch (frame.kind) {
        case wire::FrameKind::transport: return wire::opcode_name(frame.transport.opcode());
        case wire::FrameKind::flow_control: return "flow control";
        case wire::FrameKind::pfc: return "PFC";
        case wire::FrameKind::pause: return "PAUSE";
        case wire::FrameKind::foreign:
            if (const auto uet = uet_packet(frame)) return fmt::format("UET_{}", pds_name(*uet));
            return "not RoCE";
        case wire::FrameKind::malformed: return "malformed";
    }
    return "?";
}

std::string content_text(const wire::Frame& frame) {
    switch (frame.kind) {
        case wire::FrameKind::transport: return transport_text(frame);
        case wire::FrameKind::flow_control: return flow_control_text(frame.flow_control);
        case wire::FrameKind::pfc: return pfc_text(frame.pfc);
        case wire::FrameKind::pause:
            return frame.pause.quanta == 0
                       ? "the whole link: go on"
                       : fmt::format("the whole link: stop {} quanta", frame.pause.quanta);
        case wire::FrameKind::foreign:
            if (const auto uet = uet_packet(frame)) return uet_text(*uet);
            return std::string(frame.problem);
        case wire::FrameKind::malformed: return std::string(frame.problem);
    }
    return {};
}

std::vector<std::string> notes_of(const Packet& packet) {
    std::vector<std::string> notes = checksum_notes(packet);
    const auto add_if = [&](bool condition, std::string_view text) {
        if (condition) notes.emplace_back(text);
    };
    const Noticed& noticed = packet.noticed;
    const wire::Frame& frame = packet.frame;
    if (is_nak(frame)) notes.push_back(nak_text(frame));
    add_if(packet.sighting != Sighting::fresh, "seen at another interface before");
    add_if(noticed.new_sequence, "new PSN sequence");
    add_if(noticed.retransmission, "retransmission");
    add_if(noticed.out_of_order, "out of order");
    if (noticed.psn_gap != 0) notes.push_back(fmt::format("PSN gap of {}", noticed.psn_gap));
    add_if(is_congestion_experienced(frame), "ECN CE");
    if (packet.is_transport()) {
        add_if(frame.transport.bth.fecn, "FECN");
        add_if(frame.transport.bth.becn, "BECN");
    }
    if (packet.record.bytes.size() < packet.record.original_size)
        notes.push_back(fmt::format("cut to {} of {} bytes by the capture",
                                    packet.record.bytes.size(), packet.record.original_size));
    return notes;
}

std::string nak_text(const wire::Frame& frame) {
    if (!is_nak(frame)) return {};
    const uint8_t syndrome = frame.transport.aeth.syndrome.value;
    const uint8_t code = wire::ack_code(syndrome);
    if (wire::ack_kind(syndrome) == wire::AckKind::rnr_nak)
        return fmt::format("RNR NAK: wait {} ms", wire::rnr_wait_microseconds(code) / 1000.0);
    if (code == static_cast<uint8_t>(wire::NakCode::psn_sequence_error))
        return fmt::format("NAK: {}, expects PSN 0x{:06x}", wire::nak_reason(code),
                           frame.transport.bth.psn.value);
    return fmt::format("NAK: {}", nak_name(frame));
}

std::string_view nak_name(const wire::Frame& frame) {
    if (!is_nak(frame)) return {};
    const uint8_t syndrome = frame.transport.aeth.syndrome.value;
    switch (wire::ack_kind(syndrome)) {
        case wire::AckKind::rnr_nak: return "RNR";
        case wire::AckKind::nak: return wire::nak_reason(wire::ack_code(syndrome));
        default: return "reserved syndrome";
    }
}

}  // namespace tulle::decode
