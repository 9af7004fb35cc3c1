// How many bytes a packet takes on the wire, and what a switch has to know of it: by opcode, from
// a table.
#pragma once

#include <algorithm>
#include <array>

#include "fabric/settings.h"
#include "fabric/transit.h"
#include "wire/opcode.h"

namespace tulle::cluster {

class Framing {
public:
    explicit Framing(const fabric::Settings& settings)
        : minimum_(settings.framing.minimum_bytes), gap_(settings.link.gap_bytes) {
        const fabric::FramingSettings& framing = settings.framing;
        for (size_t opcode = 0; opcode < kinds_.size(); ++opcode) {
            const wire::OpcodeInfo& info = wire::opcode_info(static_cast<uint8_t>(opcode));
            Kind& kind = kinds_[opcode];
            kind.is_data = info.payload || !(info.response || opcode == wire::kCnpOpcode);
            kind.is_first = info.position == wire::Position::first ||
                            (info.position == wire::Position::only && kind.is_data);
            kind.ends_work = info.response || info.position == wire::Position::last ||
                             info.position == wire::Position::only;
            kind.overhead = framing.envelope_bytes + info.header_size;
            if (kind.is_data && framing.fixed_header_bytes != 0)
                kind.overhead = framing.fixed_header_bytes;
            if (!kind.is_data && framing.fixed_ack_bytes != 0)
                kind.overhead = framing.fixed_ack_bytes;
        }
    }

    uint16_t wire_bytes(const wire::Packet& packet) const {
        const uint32_t padded = (packet.payload_length + 3) & ~3u;
        const uint32_t frame = std::max(kinds_[packet.opcode].overhead + padded, minimum_);
        return static_cast<uint16_t>(frame + gap_);
    }
    uint8_t flags(const wire::Packet& packet) const {
        const Kind& kind = kinds_[packet.opcode];
        return static_cast<uint8_t>((kind.is_data ? fabric::Transit::kData : 0) |
                                    (kind.is_first ? fabric::Transit::kFirst : 0));
    }

    // Whether somebody may have a completion when it has come.
    bool ends_work(const wire::Packet& packet) const { return kinds_[packet.opcode].ends_work; }

private:
    struct Kind {
        uint32_t overhead = 0;
        bool is_data = false;
        bool is_first = false;
        bool ends_work = false;
    };
    std::array<Kind, 256> kinds_{};
    uint32_t minimum_;
    uint32_t gap_;
};

}  // namespace tulle::cluster
