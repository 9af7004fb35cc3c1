// Request packets that arrived before their turn, kept by PSN: the addition of an ordered service
// to the receiver's half of selective repeat. Real payload is copied, because its bytes are valid
// only during the call that brought them.
#pragma once

#include <optional>
#include <vector>

#include "transport/loss/receive_bitmap.h"

namespace tulle::transport {

class ReorderBuffer {
public:
    // Covers this many PSNs from the expected one on; memory is allocated on demand.
    explicit ReorderBuffer(uint32_t packets) : bitmap(packets) {}

    // Keeps the packet if it is new and not too far ahead of the expected one. If its data is
    // already in its place, keeps only the headers.
    Arrival keep(const wire::Packet& packet, wire::Psn expected, bool is_placed = false);
    // Whether the packet was received and its data is in its place.
    bool is_placed(wire::Psn psn) { return bitmap.has(psn) && place(psn).is_placed; }

    // Takes out the packet of this PSN, if it arrived early. Its payload stays valid until the next
    // keep().
    std::optional<wire::Packet> take(wire::Psn psn);

    bool empty() const { return bitmap.empty(); }
    void clear() { bitmap.clear(); }

    ReceiveBitmap bitmap;  // of the packets kept

private:
    struct Place {
        wire::Packet packet;
        std::vector<std::byte> payload;
        bool is_placed = false;
    };
    // The number of places is a power of two, so it divides the number of PSNs.
    Place& place(wire::Psn psn) { return places_[psn.value & (places_.size() - 1)]; }
    void make_room(wire::Psn expected, uint32_t packets);

    std::vector<Place> places_;
};

}  // namespace tulle::transport
