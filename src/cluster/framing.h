// How many bytes a packet takes on the wire, and its flags for switches: by opcode, from a table.
#pragma once

#include <algorithm>
#include <array>

#include "fabric/groups.h"
#include "fabric/settings.h"
#include "fabric/transit.h"
#include "wire/opcode.h"
#include "wire/transport_headers.h"

namespace tulle::cluster {

class Framing {
public:
    explicit Framing(const fabric::Settings& settings)
        : minimum_(settings.framing.minimum_bytes), gap_(settings.link.gap_bytes) {
        if (settings.node.reduction) {
            part_ = settings.node.reduction_numerator;
            whole_ = settings.node.reduction_denominator;
        }
        const fabric::FramingSettings& framing = settings.framing;
        const uint32_t telemetry = settings.telemetry ? framing.telemetry_bytes : 0;
        const uint32_t around = telemetry + (framing.fixed_header_bytes != 0
                                                 ? framing.fixed_header_bytes - wire::Bth::kSize
                                                 : framing.envelope_bytes);
        adapter_envelope_ = around + gap_;
        for (size_t opcode = 0; opcode < kinds_.size(); ++opcode) {
            const wire::OpcodeInfo& info = wire::opcode_info(static_cast<uint8_t>(opcode));
            Kind& kind = kinds_[opcode];
            const bool is_data = info.payload || !(info.response || opcode == wire::kCnpOpcode);
            const bool is_first = info.position == wire::Position::first ||
                                  (info.position == wire::Position::only && is_data);
            kind.flags = static_cast<uint8_t>((is_data ? fabric::Transit::kData : 0) |
                                              (is_first ? fabric::Transit::kFirst : 0));
            kind.overhead = framing.envelope_bytes + info.header_size;
            if (is_data && framing.fixed_header_bytes != 0)
                kind.overhead = framing.fixed_header_bytes;
            if (!is_data && framing.fixed_ack_bytes != 0) kind.overhead = framing.fixed_ack_bytes;
            if (opcode != wire::kCnpOpcode) kind.overhead += telemetry;
            if (info.header_size != 0 && kind.overhead > around + info.header_size)
                shortfall_ = std::max(shortfall_, kind.overhead - around - info.header_size);
        }
        shortfall_ += kMaxPadding;
    }

    // The bytes that an adapter assumes around a packet's headers and payload.
    uint32_t adapter_envelope() const { return adapter_envelope_; }
    // An adapter ignores padding and the minimum size of a packet. If a line has room for `bytes`,
    // an adapter that is given the result stays within them, whichever packet it sends.
    uint32_t room_for_adapter(uint32_t bytes) const {
        bytes = static_cast<uint32_t>(uint64_t{bytes} * part_ / whole_);
        return bytes < minimum_ + gap_ || bytes < shortfall_ ? 0 : bytes - shortfall_;
    }
    // Bytes on the line that have room for any packet of this payload.
    uint32_t room_for_any(uint32_t payload) const {
        constexpr uint32_t kLongestHeaders = wire::Bth::kSize + wire::AtomicEth::kSize;
        return stretched(
            std::max(adapter_envelope_ + kLongestHeaders + payload + shortfall_, minimum_ + gap_));
    }

    uint16_t wire_bytes(const wire::Packet& packet) const {
        const uint32_t padded = (packet.payload_length + 3) & ~3u;
        const uint32_t frame = std::max(kinds_[packet.opcode].overhead + padded, minimum_);
        if (packet.destination >= fabric::kGroupBit) [[unlikely]]
            return static_cast<uint16_t>(stretched(frame + gap_));
        return static_cast<uint16_t>(frame + gap_);
    }
    uint8_t flags(const wire::Packet& packet) const { return kinds_[packet.opcode].flags; }

private:
    struct Kind {
        uint32_t overhead = 0;
        uint8_t flags = 0;  // of Transit
    };
    static constexpr uint32_t kMaxPadding = 3;

    // Packets to groups move at a fraction of the line's rate, so they take more of it.
    uint32_t stretched(uint32_t bytes) const { return (bytes * whole_ + part_ - 1) / part_; }

    std::array<Kind, 256> kinds_{};
    uint32_t adapter_envelope_ = 0;
    uint32_t shortfall_ = 0;
    uint32_t minimum_;
    uint32_t gap_;
    uint32_t part_ = 1;
    uint32_t whole_ = 1;
};

}  // namespace tulle::cluster
