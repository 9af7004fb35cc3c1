// Request packets that came before their turn, kept by PSN until it comes: the responder's half of
// selective repeat. Payload that is real is copied, for its bytes live only as long as the call
// that brought them.
#pragma once

#include <optional>
#include <vector>

#include "wire/packet.h"

namespace tulle::transport {

class ReorderBuffer {
public:
    explicit ReorderBuffer(uint32_t packets) : places_(packets) {}

    // Keeps the packet, `ahead` PSNs in front of the expected one. False if that is too far, or if
    // it is here already.
    bool keep(const wire::Packet& packet, uint32_t ahead);

    // The packet of this PSN, if it came early. Its payload stays valid until the next keep().
    std::optional<wire::Packet> take(wire::Psn psn);

    bool empty() const { return count_ == 0; }
    void clear();

private:
    struct Place {
        bool used = false;
        wire::Packet packet;
        std::vector<std::byte> payload;
    };
    Place& place(wire::Psn psn) { return places_[psn.value % places_.size()]; }

    std::vector<Place> places_;
    uint32_t count_ = 0;
};

}  // namespace tulle::transport
