#include "transport/loss/reorder_buffer.h"

namespace tulle::transport {

constexpr uint32_t kFewPlaces = 64;

Arrival ReorderBuffer::keep(const wire::Packet& packet, wire::Psn expected, bool is_placed) {
    const Arrival arrival = bitmap.note(expected, packet.psn());
    if (arrival != Arrival::early) return arrival;
    make_room(expected, wire::psn_distance(expected, packet.psn()) + 1);
    Place& here = place(packet.psn());
    here.packet = packet;
    here.is_placed = is_placed;
    if (is_placed) here.packet.payload = {};
    if (!is_placed && !packet.payload.is_modelled() && packet.payload_length != 0) {
        const std::byte* bytes = packet.payload.address();
        here.payload.assign(bytes, bytes + packet.payload_length);
        here.packet.payload = wire::Payload::memory(here.payload.data());
    }
    return arrival;
}

std::optional<wire::Packet> ReorderBuffer::take(wire::Psn psn) {
    if (!bitmap.has(psn)) return std::nullopt;
    bitmap.forget(psn);
    return place(psn).packet;
}

void ReorderBuffer::make_room(wire::Psn expected, uint32_t packets) {
    if (packets <= places_.size()) return;
    std::vector<Place> larger(std::max(kFewPlaces, std::bit_ceil(packets)));
    larger.swap(places_);
    for (uint32_t i = 0; i < larger.size(); ++i) {
        const wire::Psn psn = wire::psn_plus(expected, i);
        if (bitmap.has(psn)) place(psn) = std::move(larger[psn.value & (larger.size() - 1)]);
    }
}

}  // namespace tulle::transport
