// A reduce-scatter or an all-gather of two levels in closed form, as in two_level.cc: blocks go
// along rails in a ring, and each block is reduced inside a server before, or copied there
// afterwards.
//
// A member has a stream for each other member of its server and one along its rail. An inlet has
// the index of the stream whose messages it takes. Inside a server, blocks have the order in which
// the ring sends or receives them.
#pragma once

#include <algorithm>
#include <vector>

#include "workload/schedules/shape.h"

namespace tulle::workload {

class TwoLevelPass : public Shape {
public:
    TwoLevelPass(const CollectiveOptions& options, const Placement& placement);

    Stream stream(uint32_t member, uint32_t index) const;
    StreamMessage message(uint32_t member, uint32_t index, uint64_t k) const;
    void list_needs(uint32_t member, uint32_t index, uint64_t k, uint32_t first,
                    StreamMessage& message) const;
    uint32_t most_needs() const { return std::max(places_, Shape::most_needs()); }
    StreamSource source(uint32_t member, uint32_t inlet) const;
    bool may_feed(uint32_t inlet, uint32_t index) const;
    uint64_t stream_bytes(uint32_t member, uint32_t index) const;
    uint64_t most_under_way() const;
    uint64_t arrivals(uint32_t member) const;

private:
    struct Channel {
        uint64_t pieces = 1;  // of a block
        uint64_t inside = 0;  // number of the first message inside servers
        uint64_t rails = 0;   // number of the first message along rails
    };
    // A stream of a member.
    struct Lane {
        uint16_t channel = 0;
        uint32_t server = 0;
        uint32_t place = 0;
        uint32_t slot = 0;
    };
    // A message: which block and which of its pieces.
    struct Load {
        uint32_t step = 0;  // of the ring, or the place of the block inside the server
        uint64_t piece = 0;
        uint64_t batch = 0;    // pieces that go round together; only along rails
        bool is_first = true;  // of these
        uint32_t server = 0;   // of the block's owner
        uint32_t place = 0;    // likewise
    };

    bool reduces() const { return options_.collective == Collective::reduce_scatter; }
    uint32_t rail_slot() const { return places_ - 1; }
    Lane lane_of(uint32_t member, uint32_t index) const;
    Load load_of(const Lane& lane, uint64_t k) const;
    uint64_t rail_message(const Channel& channel, uint32_t step, uint64_t piece) const;
    Range block(uint32_t server, uint32_t place, uint16_t channel) const;
    void add_channel(uint16_t number);

    uint32_t servers_ = 0;
    uint32_t places_ = 0;
    std::vector<Channel> channels_;
};

}  // namespace tulle::workload
