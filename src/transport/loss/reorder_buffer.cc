#include "transport/loss/reorder_buffer.h"

namespace tulle::transport {

bool ReorderBuffer::keep(const wire::Packet& packet, uint32_t ahead) {
    if (ahead >= places_.size()) return false;
    Place& here = place(packet.psn());
    if (here.used) return false;
    here.used = true;
    here.packet = packet;
    if (!packet.payload.is_modelled() && packet.payload_length != 0) {
        const std::byte* bytes = packet.payload.address();
        here.payload.assign(bytes, bytes + packet.payload_length);
        here.packet.payload = wire::Payload::memory(here.payload.data());
    }
    ++count_;
    return true;
}

std::optional<wire::Packet> ReorderBuffer::take(wire::Psn psn) {
    Place& here = place(psn);
    if (!here.used || here.packet.psn() != psn) return std::nullopt;
    here.used = false;
    --count_;
    return here.packet;
}

void ReorderBuffer::clear() {
    for (Place& here : places_) here.used = false;
    count_ = 0;
}

}  // namespace tulle::transport
