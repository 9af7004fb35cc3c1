// Trimming: a packet that finds no room in a switch loses its payload. Its headers go on in a lane
// of their own, so that the receiver learns of the loss at once (Ultra Ethernet's trimming; NDP,
// SIGCOMM 2017).
#pragma once

#include <algorithm>
#include <optional>

#include "fabric/settings.h"
#include "fabric/transit.h"

namespace tulle::fabric {

// The size of the packet without its payload. No value: it has no payload to lose.
inline std::optional<uint16_t> trimmed_bytes(const Settings& settings, const Transit& transit,
                                             const wire::Packet& packet) {
    const uint32_t payload = (packet.payload_length + 3) & ~3u;
    if (payload == 0 || (transit.flags & Transit::kTrimmed) != 0) return std::nullopt;
    const uint32_t smallest = settings.framing.minimum_bytes + settings.link.gap_bytes;
    return static_cast<uint16_t>(std::max(transit.wire_bytes - payload, smallest));
}

inline void trim(Transit& transit, uint16_t bytes, uint8_t lane) {
    transit.lane = lane;
    transit.wire_bytes = bytes;
    transit.flags |= Transit::kTrimmed;
}

}  // namespace tulle::fabric
