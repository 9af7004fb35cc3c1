// Halving and doubling in closed form, as in halving_doubling.cc.
//
// The members that take part in all steps are the core; each of the others is folded onto one of
// them. After s halvings a core member holds a range that the lower s bits of its number name. It
// has one stream to the partner of each step, first the half that the partner keeps, and later what
// it has gathered itself; and one to the member folded onto it. Stream and inlet of a pair have the
// same index.
//
// What a message has summed up comes from the partners of all earlier steps, in any order. So it
// may wait for many messages: for the few pieces of each that share bytes with it.
#pragma once

#include <vector>

#include "workload/schedules/shape.h"

namespace tulle::workload {

class Halving : public Shape {
public:
    Halving(const CollectiveOptions& options, const Placement& placement);

    Stream stream(uint32_t member, uint32_t index) const;
    StreamMessage message(uint32_t member, uint32_t index, uint64_t k) const;
    void list_needs(uint32_t member, uint32_t index, uint64_t k, uint32_t first,
                    StreamMessage& message) const;
    // Three pieces of each partner's sums and copies: pieces are longer than half a chunk.
    uint32_t most_needs() const { return 3 * (2 * steps_ + 1); }
    StreamSource source(uint32_t member, uint32_t inlet) const;
    bool may_feed(uint32_t inlet, uint32_t index) const {
        return inlet / slots() == index / slots();
    }
    uint64_t stream_bytes(uint32_t member, uint32_t index) const;
    uint64_t most_under_way() const;
    uint64_t arrivals(uint32_t member) const;

private:
    struct Channel {
        Range data;
        // Numbers of the first message: of each halving step, of each doubling step, and of the
        // results for folded members.
        uint64_t base = 0;
        std::vector<uint64_t> halving;
        std::vector<uint64_t> doubling;
        uint64_t unfolding = 0;
    };
    // A stream's place: its channel, and the step or (the last slot) the fold.
    struct Lane {
        const Channel& channel;
        uint32_t slot = 0;
        bool is_folded = false;  // the member is not of the core
        uint32_t core = 0;       // its number, or that of the member that it is folded onto
    };
    // A message: the range that it carries.
    struct Load {
        bool sums = false;
        uint64_t piece = 0;
        Range range;
    };

    uint32_t slots() const { return steps_ + 1; }
    Lane lane_of(uint32_t member, uint32_t index) const;
    uint32_t peer_of(uint32_t member, const Lane& lane) const;
    uint32_t core_at(uint32_t number) const {
        return number < folded_ ? 2 * number + 1 : number + folded_;
    }
    Range held(const Channel& channel, uint32_t core, uint32_t steps) const;
    uint64_t pieces(Range range) const { return parts_of(range.size(), options_.chunking.chunk); }
    uint64_t most_pieces(const Channel& channel, uint32_t steps) const;
    uint64_t pieces_of_all(const Channel& channel, uint32_t steps) const;
    void add_channel(uint16_t number);
    Load load_of(const Lane& lane, uint64_t k) const;
    void wait_for_pieces(NeedList& list, uint32_t inlet, Range whole, Range range,
                         uint64_t before) const;

    uint32_t steps_ = 0;   // halvings
    uint32_t folded_ = 0;  // members that are folded onto others
    std::vector<Channel> channels_;
};

}  // namespace tulle::workload
