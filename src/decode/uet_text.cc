#include "decode/uet_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace tulle::decode {
namespace {

std::string uet_request_text(const wire::UetPacket& packet) {
    const auto opcode = static_cast<wire::SesOpcode>(packet.ses.opcode.value);
    std::string text = fmt::format("PSN {}, {}", packet.request.psn, wire::ses_name(opcode));
    if (packet.ses_header() == wire::SesHeader::standard_request) {
        text += fmt::format(", {} of {} bytes at 0x{:x} key 0x{:x}", packet.payload.size(),
                            packet.standard.request_length, packet.standard.buffer_offset.value,
                            packet.standard.key_or_match_bits.value);
    } else {
        text += fmt::format(", {} bytes", packet.payload.size());
    }
    if (packet.type() == wire::PdsType::rud_cc_request ||
        packet.type() == wire::PdsType::rod_cc_request)
        text += fmt::format(", wants credit up to {}", packet.request_cc.credit_target);
    return text;
}

std::string uet_ack_text(const wire::UetPacket& packet) {
    std::string text = fmt::format("up to PSN {}", packet.ack.cumulative_psn);
    if (packet.type() == wire::PdsType::ack_cc && packet.ack_cc.sack_bitmap.value != 0) {
        const auto offset = static_cast<int16_t>(packet.ack_cc.sack_psn_offset.value);
        text += fmt::format(
            ", and 0x{:x} from {} on", packet.ack_cc.sack_bitmap.value,
            static_cast<uint32_t>(packet.ack.cumulative_psn + static_cast<uint32_t>(offset)));
    }
    if (packet.ack.marked) text += ", marked";
    return text;
}

}  // namespace

std::optional<wire::UetPacket> uet_packet(const wire::Frame& frame) {
    const bool is_for_uet = frame.kind == wire::FrameKind::foreign && frame.has_udp &&
                            frame.udp.destination_port == wire::kUetPort;
    if (!is_for_uet || frame.udp.length < wire::Udp::kSize) return std::nullopt;
    const size_t size = frame.udp.length - wire::Udp::kSize;
    return wire::parse_uet(frame.trailer.first(std::min(size, frame.trailer.size())));
}

std::string uet_text(const wire::UetPacket& packet) {
    if (packet.is_request()) return uet_request_text(packet);
    switch (packet.type()) {
        case wire::PdsType::nack: {
            const auto code = static_cast<wire::PdsNackCode>(packet.nack.code.value);
            const std::string_view reason = wire::nack_reason(code);
            return fmt::format("PSN {}: {}", packet.nack.psn,
                               reason.empty() ? fmt::format("code 0x{:02x}", packet.nack.code.value)
                                              : std::string(reason));
        }
        case wire::PdsType::control: return fmt::format("{}", packet.control.payload);
        default: return uet_ack_text(packet);
    }
}

}  // namespace tulle::decode
