// A collective whose messages are computed when their turn comes.
//
// A member's work in a phase is a set of streams. A stream is the sequence of messages to one peer
// on one channel. Message k of a stream is a closed form of (member, stream, k): its bytes, and the
// messages that it waits for. So a message that is not in flight needs no memory, and a phase of
// any size is a few tables.
//
// A stream may have a gate: it opens when a turn of the same member ends. So an all-to-all has only
// a few streams open at a time.
//
// The stored form (Exchange) lists the same messages for all members at once. A message's number is
// its place in that list, so simultaneous events have the same order in both, and a run gives the
// same results to the last bit: schedule_test.cc compares the messages, sim/rank_streams_test.cc
// the runs. The stored form takes some 215 bytes a task. A schedule takes a few tables, which
// repetitions of the phase share.
//
// Each algorithm has its own shape of schedule (schedules/); a Schedule is one of them. Sums in
// switches have no schedule yet, nor have two levels with trees or halving between servers.
//
// A generated phase names its ranks and the phases that a rank must have ended before it
// (GeneratedPhase::after), because phases may use subsets of the ranks and overlap.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>

#include "workload/schedules/by_rail.h"
#include "workload/schedules/chains.h"
#include "workload/schedules/each_to_each.h"
#include "workload/schedules/halving.h"
#include "workload/schedules/rings.h"
#include "workload/schedules/shape.h"
#include "workload/schedules/tree_broadcast.h"
#include "workload/schedules/trees.h"
#include "workload/schedules/two_level_pass.h"
#include "workload/schedules/two_level_rings.h"

namespace tulle::workload {

class Schedule {
public:
    using Source = StreamSource;

    // Null if there is no closed form. There is one for rings, chains, trees, halving and doubling,
    // all-to-all patterns, and two levels with rings, unless they send so few bytes that some
    // messages would be empty. The options must be valid, with nothing automatic left.
    static std::shared_ptr<const Schedule> make(const CollectiveOptions& options,
                                                std::shared_ptr<const Placement> placement);
    Schedule(const Schedule&) = delete;
    Schedule& operator=(const Schedule&) = delete;

    const Placement& placement() const { return *placement_; }
    const CollectiveOptions& options() const { return options_; }

    // The number of streams of each member; some may have no messages. Those without a gate come
    // first.
    uint32_t stream_count() const { return counts_.streams; }
    Stream stream(uint32_t member, uint32_t index) const;
    StreamMessage message(uint32_t member, uint32_t index, uint64_t k) const;
    // Replaces the listed needs of a message by those from place `first` on.
    void list_needs(uint32_t member, uint32_t index, uint64_t k, uint32_t first,
                    StreamMessage& message) const;
    // The need of a message at a place.
    StreamMessage::Need need(uint32_t member, uint32_t index, uint64_t k, uint32_t place) const;
    // The most needs of a message.
    uint32_t most_needs() const;
    // The streams [first, second) of the member that open when a turn of it ends.
    std::pair<uint32_t, uint32_t> opened_by(uint32_t member, uint32_t turn) const;
    // The stream whose last message ends a turn of the member.
    uint32_t ends_turn(uint32_t member, uint32_t turn) const;
    // The stream whose messages arrive at an inlet.
    Source source(uint32_t member, uint32_t inlet) const;
    // The repetition that message k of a stream belongs to: steps of a ring, pieces of a chain or
    // tree. Streams of all members repeat in the same way, if one does.
    Repetition repetition(uint32_t index, uint64_t k) const;
    // Whether all streams of the other schedule repeat in the same way: rings and chains with
    // equally many members and the same sizes.
    bool repeats_like(const Schedule& other) const;
    // Whether all messages of all streams are alike: pieces of chains and trees.
    bool repeats_throughout() const;
    // Whether messages of a stream may wait for what arrives at an inlet of the same member.
    bool may_feed(uint32_t inlet, uint32_t index) const;
    // Bytes of data in all messages of the stream.
    uint64_t stream_bytes(uint32_t member, uint32_t index) const;
    // The most messages of a stream that may be in flight.
    uint64_t most_under_way() const;
    // The number of inlets whose messages others may wait for; 0: messages are only counted.
    uint32_t inlet_count() const { return counts_.inlets; }
    // The number of messages to a member.
    uint64_t arrivals(uint32_t member) const;
    // The number of messages of all members.
    uint64_t messages() const { return counts_.messages; }
    // All message numbers are below this.
    uint64_t numbers() const { return counts_.numbers; }

    // The size of a message on the wire, with the library's flags.
    uint64_t wire_bytes(uint64_t bytes) const { return options_.software.wire_bytes(bytes); }
    base::Duration software(Tier tier, const StreamMessage& message) const {
        return options_.software.before(tier, message.bytes,
                                        message.continues && options_.software.passes_on_lines);
    }
    // The least software time before any message; zero: none, so hosts.reaction applies.
    base::Duration least_software() const;

private:
    using AnyShape = std::variant<Rings, ChainBroadcast, Trees, TreeBroadcast, Halving,
                                  TwoLevelRings, TwoLevelPass, EachToEach, ByRail>;

    Schedule(const CollectiveOptions& options, std::shared_ptr<const Placement> placement);
    static bool has_shape(const CollectiveOptions& options, const Placement& placement);
    static AnyShape make_shape(const CollectiveOptions& options, const Placement& placement);

    template <class Question>
    auto ask(Question&& question) const {
        return std::visit(question, shape_);
    }

    CollectiveOptions options_;
    std::shared_ptr<const Placement> placement_;
    AnyShape shape_;  // refers to the two above
    ShapeCounts counts_;
};

}  // namespace tulle::workload
