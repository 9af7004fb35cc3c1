// All-to-all patterns in closed form, as in direct.cc: each member begins with the member before it
// and continues downwards. Peers outside its server take turns.
#pragma once

#include "workload/schedules/shape.h"

namespace tulle::workload {

// The data that one member has for another.
Range range_between(const CollectiveOptions& options, uint64_t members, uint32_t from, uint32_t to);

class EachToEach : public Shape {
public:
    EachToEach(const CollectiveOptions& options, const Placement& placement);

    Stream stream(uint32_t member, uint32_t index) const;
    StreamMessage message(uint32_t member, uint32_t index, uint64_t k) const;
    StreamSource source(uint32_t member, uint32_t inlet) const;
    std::pair<uint32_t, uint32_t> opened_by(uint32_t member, uint32_t turn) const;
    uint32_t ends_turn(uint32_t member, uint32_t turn) const;
    uint64_t stream_bytes(uint32_t member, uint32_t index) const;
    uint64_t most_under_way() const { return most_pieces_; }
    uint64_t arrivals(uint32_t member) const;

private:
    // First the peers that a member serves without waiting, then the others in the member's order.
    struct DirectPeer {
        uint32_t member = 0;
        uint32_t position = 0;  // in the list of distances
        uint32_t turn = Stream::kNoTurn;
    };
    DirectPeer peer_at(uint32_t member, uint32_t index) const;
    uint64_t pieces(uint32_t from, uint32_t to) const;
    // The number of a member's streams before those that take turns.
    uint32_t streams_inside(uint32_t member) const;

    uint64_t most_pieces_ = 1;  // from one member to another
};

}  // namespace tulle::workload
