// All-to-all through the receiver's rail (PXN) in closed form, as in direct.cc. The data of a
// server for a member of another server goes inside to the member at the same place, which forwards
// them. A stream inside a server first has the data for its receiver, then the data that this
// forwards, server by server. A stream to another server has the data of each member of the own
// server for the peer. It waits for the data that are not the forwarder's own.
#pragma once

#include <algorithm>

#include "workload/schedules/shape.h"

namespace tulle::workload {

class ByRail : public Shape {
public:
    ByRail(const CollectiveOptions& options, const Placement& placement);

    Stream stream(uint32_t member, uint32_t index) const;
    StreamMessage message(uint32_t member, uint32_t index, uint64_t k) const;
    StreamSource source(uint32_t member, uint32_t inlet) const;
    std::pair<uint32_t, uint32_t> opened_by(uint32_t member, uint32_t turn) const;
    uint32_t ends_turn(uint32_t member, uint32_t turn) const;
    uint64_t stream_bytes(uint32_t member, uint32_t index) const;
    uint64_t most_under_way() const { return most_pieces_ * std::max({1u, servers_, places_}); }
    uint64_t arrivals(uint32_t member) const;

private:
    // A stream inside a server, or to the same place of another server.
    struct RailStream {
        bool leaves = false;
        uint16_t channel = 0;
        uint32_t place = 0;  // of the sender
        uint32_t server = 0;
        uint32_t peer = 0;    // a member
        uint32_t turn = 0;    // if it leaves
        uint32_t offset = 0;  // otherwise: distance in places
    };
    struct RailData {
        uint32_t from = 0;
        uint32_t to = 0;
    };
    RailStream stream_at(uint32_t member, uint32_t index) const;
    RailData data_of(uint32_t member, const RailStream& stream, uint32_t segment) const;
    uint64_t number_of(uint32_t member, const RailStream& stream, uint32_t segment) const;

    uint32_t servers_ = 0;
    uint32_t places_ = 0;       // members of each server
    uint64_t most_pieces_ = 1;  // from one member to another
};

}  // namespace tulle::workload
