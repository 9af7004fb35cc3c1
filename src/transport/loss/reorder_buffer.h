// Request packets that came before their turn, kept by PSN until it comes: what an ordered service
// adds to the receiver's half of selective repeat. Payload that is real is copied, for its bytes
// live only as long as the call that brought them.
#pragma once

#include <optional>
#include <vector>

#include "transport/loss/receive_bitmap.h"

namespace tulle::transport {

class ReorderBuffer {
public:
    // Of so many PSNs from the expected one on; memory comes as it is needed.
    explicit ReorderBuffer(uint32_t packets) : bitmap(packets) {}

    // Keeps the packet if it is new and not too far in front of the expected one. Of one whose data
    // is in its place already only the headers are kept.
    Arrival keep(const wire::Packet& packet, wire::Psn expected, bool is_placed = false);
    // Whether the data of this packet, which is here, is in its place.
    bool is_placed(wire::Psn psn) { return bitmap.has(psn) && place(psn).is_placed; }

    // The packet of this PSN, if it came early. Its payload stays valid until the next keep().
    std::optional<wire::Packet> take(wire::Psn psn);

    bool empty() const { return bitmap.empty(); }
    void clear() { bitmap.clear(); }

    ReceiveBitmap bitmap;  // of what is here

private:
    struct Place {
        wire::Packet packet;
        std::vector<std::byte> payload;
        bool is_placed = false;
    };
    // The number of places is a power of two, and so divides that of PSNs.
    Place& place(wire::Psn psn) { return places_[psn.value & (places_.size() - 1)]; }
    void make_room(wire::Psn expected, uint32_t packets);

    std::vector<Place> places_;
};

}  // namespace tulle::transport
