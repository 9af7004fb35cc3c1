// Moving bytes between packets and the pieces of memory that work names, every access checked.
#pragma once

#include "base/guarded_copy.h"
#include "transport/core.h"

namespace tulle::transport {

// The payload [offset, offset + length) of a message, gathered from its pieces. What lies in one
// piece is named where it lies; what spans pieces is copied together and stays valid until the next
// packet is polled. Nothing if a piece may not be read.
std::optional<wire::Payload> gather(Core& core, std::span<const Sge> sges, PdId pd, uint32_t offset,
                                    uint32_t length);

enum class Scatter : uint8_t { done, too_long, not_allowed };

// Puts a packet's payload at this offset of the pieces.
Scatter scatter(Core& core, std::span<const Sge> sges, PdId pd, uint32_t offset,
                const Packet& packet);

// The same for bytes that are at hand; nullptr moves nothing and checks all.
Scatter scatter_bytes(Core& core, std::span<const Sge> sges, PdId pd, uint32_t offset,
                      const std::byte* bytes, uint32_t length);

// Puts a packet's payload where a WRITE was granted, this far into it. False: the memory has gone
// while it was registered.
inline bool store(const Grant& grant, uint32_t offset, const Packet& packet) {
    return grant.host == nullptr || packet.payload.is_modelled() ||
           base::guarded_copy(grant.host + offset, packet.payload.address(), packet.payload_length);
}

uint64_t total_length(std::span<const Sge> sges);

}  // namespace tulle::transport
