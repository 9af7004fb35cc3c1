#include "transport/transfer.h"

#include <algorithm>
#include <cstring>

#include "base/guarded_copy.h"

namespace tulle::transport {
namespace {

// Calls visit(sge, offset_within, length) for each part of the pieces within [offset, offset +
// length); stops when it returns false. Returns the number of bytes left.
template <class Visitor>
uint32_t for_each_part(std::span<const Sge> sges, uint64_t offset, uint32_t length,
                       Visitor&& visit) {
    for (const Sge& sge : sges) {
        if (length == 0) break;
        if (offset >= sge.length) {
            offset -= sge.length;
            continue;
        }
        const auto part = static_cast<uint32_t>(std::min<uint64_t>(sge.length - offset, length));
        if (!visit(sge, offset, part)) break;
        length -= part;
        offset = 0;
    }
    return length;
}

}  // namespace

uint64_t total_length(std::span<const Sge> sges) {
    uint64_t sum = 0;
    for (const Sge& sge : sges) sum += sge.length;
    return sum;
}

std::optional<wire::Payload> gather(Core& core, std::span<const Sge> sges, PdId pd, uint32_t offset,
                                    uint32_t length) {
    wire::Payload payload;
    uint32_t copied = 0;
    const uint32_t missing =
        for_each_part(sges, offset, length, [&](const Sge& sge, uint64_t at, uint32_t part) {
            const auto grant = core.memory.check(sge.lkey, {pd, {}}, sge.address + at, part, 0);
            if (!grant) return false;
            if (part == length) {
                if (grant->host == nullptr) return true;
                payload = wire::Payload::memory(grant->host);
                return base::is_readable_now(grant->host, length);
            }
            core.gathered.resize(length);
            if (grant->host != nullptr) {
                if (!base::guarded_copy(core.gathered.data() + copied, grant->host, part))
                    return false;
                payload = wire::Payload::memory(core.gathered.data());
            } else {
                std::memset(core.gathered.data() + copied, 0, part);
            }
            copied += part;
            return true;
        });
    if (missing != 0) return std::nullopt;
    return payload;
}

Scatter scatter_bytes(Core& core, std::span<const Sge> sges, PdId pd, uint32_t offset,
                      const std::byte* bytes, uint32_t length) {
    bool allowed = true;
    const uint32_t missing =
        for_each_part(sges, offset, length, [&](const Sge& sge, uint64_t at, uint32_t part) {
            const auto grant =
                core.memory.check(sge.lkey, {pd, {}}, sge.address + at, part, kLocalWrite);
            allowed = grant.has_value();
            if (!allowed || bytes == nullptr) return allowed;
            if (grant->host != nullptr) allowed = base::guarded_copy(grant->host, bytes, part);
            bytes += part;
            return allowed;
        });
    if (!allowed) return Scatter::not_allowed;
    return missing == 0 ? Scatter::done : Scatter::too_long;
}

Scatter scatter(Core& core, std::span<const Sge> sges, PdId pd, uint32_t offset,
                const Packet& packet) {
    const std::byte* bytes = packet.payload.is_modelled() ? nullptr : packet.payload.address();
    return scatter_bytes(core, sges, pd, offset, bytes, packet.payload_length);
}

}  // namespace tulle::transport
