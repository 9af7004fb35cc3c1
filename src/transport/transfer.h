// Moves bytes between packets and the memory pieces of work requests; checks every access.
#pragma once

#include "base/guarded_copy.h"
#include "transport/core.h"

namespace tulle::transport {

// The payload [offset, offset + length) of a message, gathered from its pieces. Payload in one
// piece is not copied; payload that spans pieces is copied, and stays valid until the next packet
// is polled. Nothing if a piece may not be read.
std::optional<wire::Payload> gather(Core& core, std::span<const Sge> sges, PdId pd, uint32_t offset,
                                    uint32_t length);

enum class Scatter : uint8_t { done, too_long, not_allowed };

// Puts a packet's payload at this offset of the pieces.
Scatter scatter(Core& core, std::span<const Sge> sges, PdId pd, uint32_t offset,
                const Packet& packet);

// The same for bytes at `bytes`; nullptr moves nothing but still checks.
Scatter scatter_bytes(Core& core, std::span<const Sge> sges, PdId pd, uint32_t offset,
                      const std::byte* bytes, uint32_t length);

// Puts a packet's payload into the memory granted to a WRITE, at this offset. False: the memory was
// unmapped while registered.
inline bool store(const Grant& grant, uint32_t offset, const Packet& packet) {
    return grant.host == nullptr || packet.payload.is_modelled() ||
           base::guarded_copy(grant.host + offset, packet.payload.address(), packet.payload_length);
}

uint64_t total_length(std::span<const Sge> sges);

}  // namespace tulle::transport
