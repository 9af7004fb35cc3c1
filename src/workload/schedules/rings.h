// Rings in closed form, as in ring.cc: in step s, position p sends the block that ends at position
// p - 1 - s. Message k of a channel has the same turn, step and piece for every position.
#pragma once

#include <vector>

#include "workload/schedules/shape.h"

namespace tulle::workload {

class Rings : public Shape {
public:
    Rings(const CollectiveOptions& options, const Placement& placement);

    Stream stream(uint32_t member, uint32_t index) const;
    StreamMessage message(uint32_t member, uint32_t index, uint64_t k) const;
    StreamSource source(uint32_t member, uint32_t inlet) const;
    Repetition repetition(uint32_t index, uint64_t k) const;
    bool may_feed(uint32_t inlet, uint32_t index) const { return inlet == index; }
    uint64_t stream_bytes(uint32_t member, uint32_t index) const;
    uint64_t most_under_way() const;
    uint64_t arrivals(uint32_t member) const;

    // The number of turns that the options ask for; a table has one row for each.
    static uint64_t turns_of(const CollectiveOptions& options, uint64_t members);

private:
    // A part of a ring's data. It goes round completely before the next part begins.
    struct Turn {
        uint64_t first = 0;  // index of its first message in a stream
        Range data;
        uint64_t pieces = 1;
        uint64_t bytes = 0;  // of all blocks together
    };
    // One channel.
    struct Ring {
        std::vector<uint32_t> order;
        std::vector<uint32_t> position;  // by member
        std::vector<Turn> turns;
        uint64_t messages = 0;  // of a stream
        uint64_t base = 0;      // number of its first message
    };
    // The position of message k of a channel. Pieces of each block go round in batches.
    struct RingPlace {
        const Turn& turn;
        uint64_t first = 0;   // the batch's first message
        uint64_t begin = 0;   // its first piece
        uint64_t length = 0;  // its number of pieces
    };

    void add_ring(uint16_t channel);
    void add_turn(Ring& ring, uint16_t channel, Range data);
    uint32_t steps() const;
    Range block(const Turn& turn, uint32_t position, uint16_t channel) const;
    RingPlace place_of(uint16_t channel, uint64_t k) const;

    std::vector<Ring> rings_;  // by channel
};

}  // namespace tulle::workload
