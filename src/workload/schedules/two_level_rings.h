// An all-reduce of two levels in closed form, as in two_level.cc, with rings between servers.
//
// Data of a channel are cut into shares, one for each place of a server, and shares into turns. In
// a turn, each member receives the pieces of its share from the other members of its server,
// reduces them along its rail in a ring, and gives the results to the others. So a member has a
// stream for each other member of its server, one along its rail, and again one for each other
// member of its server. An inlet has the index of the stream whose messages it takes. The three
// overlap:
// - A message of the ring waits for the message of the step before, and, until the sums of all
//   servers are in it, for the pieces of its own server that share bytes with it.
// - A result waits for all messages of the ring that share bytes with it. Blocks of a ring arrive
//   in the order of memory, beginning at a member's own; so do the results.
#pragma once

#include <vector>

#include "workload/schedules/shape.h"

namespace tulle::workload {

class TwoLevelRings : public Shape {
public:
    TwoLevelRings(const CollectiveOptions& options, const Placement& placement);

    Stream stream(uint32_t member, uint32_t index) const;
    StreamMessage message(uint32_t member, uint32_t index, uint64_t k) const;
    void list_needs(uint32_t member, uint32_t index, uint64_t k, uint32_t first,
                    StreamMessage& message) const;
    uint32_t most_needs() const { return most_needs_; }
    StreamSource source(uint32_t member, uint32_t inlet) const;
    bool may_feed(uint32_t inlet, uint32_t index) const;
    uint64_t stream_bytes(uint32_t member, uint32_t index) const;
    uint64_t most_under_way() const;
    uint64_t arrivals(uint32_t member) const;

    // The number of turns that the options ask for; a table has one row for each.
    static uint64_t turns_of(const CollectiveOptions& options, const Placement& placement);

private:
    // A part of a turn that goes round a ring completely before the next one begins.
    struct Round {
        uint64_t first = 0;   // its first message in the stream along the rail
        uint64_t pieces = 1;  // of a block
        uint32_t turn = 0;
        uint32_t index = 0;  // in the turn
    };
    struct Turn {
        uint64_t inside = 0;   // its first message in a stream inside a server
        uint64_t pieces = 0;   // of a share
        uint64_t rail = 0;     // its first message in the stream along the rail
        uint64_t base = 0;     // number of its first message
        uint64_t results = 0;  // number of the first result
        uint64_t rounds = 0;
        size_t first_round = 0;
    };
    struct Channel {
        Range data;
        std::vector<Turn> turns;
        std::vector<Round> rounds;
        uint64_t inside = 0;  // messages of a stream inside a server
        uint64_t rail = 0;    // of a stream along a rail
    };
    // A stream of a member.
    struct Lane {
        const Channel& channel;
        uint32_t server = 0;
        uint32_t place = 0;
        uint32_t slot = 0;
    };
    // A message inside a server: a turn, and its place in the order of that turn.
    struct Step {
        const Turn& turn;
        uint64_t place = 0;
    };

    uint32_t slots() const { return 2 * places_ - 1; }
    uint32_t rail_slot() const { return places_ - 1; }
    uint32_t ring_steps() const { return 2 * (servers_ - 1); }
    Lane lane_of(uint32_t member, uint32_t index) const;
    // The distance in places between the ends of a stream inside a server.
    uint32_t distance(uint32_t slot) const { return slot % places_ + 1; }
    Range share(const Channel& channel, const Turn& turn, uint32_t place) const;
    Range block(Range round, uint32_t number) const {
        return part(round, servers_, servers_ - 1 - number);
    }
    Step step_at(const Channel& channel, uint64_t k) const;
    const Round& round_at(const Channel& channel, uint64_t k) const;
    uint64_t first_piece(const Lane& lane, const Turn& turn) const;
    uint64_t result_at(const Lane& lane, const Step& step) const;
    Range piece_of_ring(const Lane& lane, const Round& round, uint64_t k) const;
    void list_for_ring(const Lane& lane, uint64_t k, NeedList& list) const;
    void list_for_result(const Lane& lane, uint64_t k, NeedList& list) const;
    void wait_for_pieces(const Lane& lane, const Turn& turn, uint64_t begin, uint64_t end,
                         NeedList& list) const;
    void add_channel(uint16_t number);
    void add_turn(Channel& channel, uint64_t turns);
    void note_round(Range round, uint64_t pieces, Range share, const Turn& turn);

    uint32_t servers_ = 0;
    uint32_t places_ = 0;
    uint64_t most_needs_ = 0;
    std::vector<Channel> channels_;
};

}  // namespace tulle::workload
