// A collective whose messages are computed when their turn comes.
//
// What a member does in a phase is a set of streams. A stream is what it sends to one peer on one
// channel, in order. Message k of a stream is a closed form of (member, stream, k): its bytes, and
// the messages to this member that it waits for. So a message that is not under way needs no
// memory, and a phase of any size is a few tables.
//
// A stream may have a gate: it opens when a turn of the same member ends, so that an all-to-all has
// a few streams open at a time.
//
// The stored form (Exchange) lists the same messages for all members at once. A message's number is
// its place in that list, so things of one instant have the same order in both and a run finds the
// same to the last bit: schedule_test.cc compares the messages, sim/rank_streams_test.cc runs. The
// stored form takes some 215 bytes a task; a schedule takes a few tables, which repetitions of the
// phase share.
//
// Two levels, sums in switches, and halving and doubling have no schedule yet. A generated
// phase names its ranks and the phases that a rank has to have ended before it
// (GeneratedPhase::after): phases may be on parts of the ranks and overlap.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "workload/collectives/collective.h"
#include "workload/placement.h"

namespace tulle::workload {

struct Stream {
    static constexpr uint32_t kNoTurn = 0xffff'ffff;

    uint32_t peer = 0;  // a member
    Tier tier = Tier::scale_out;
    uint16_t channel = 0;
    // Where its messages arrive: an inlet of the peer, which it has for nobody else.
    uint32_t inlet = 0;
    uint64_t messages = 0;
    // Message k waits until message k - window is known to have arrived; 0: it does not.
    uint32_t window = 0;
    // It opens when the turn `gate` of the same member ends: with the last message of the stream
    // that has it as its `turn`.
    uint32_t gate = kNoTurn;
    uint32_t turn = kNoTurn;
};

// One message of a stream.
struct StreamMessage {
    struct Need {
        uint32_t inlet = 0;
        uint32_t place = 0;  // among its needs
        uint64_t message = 0;
    };
    static constexpr size_t kMostNeeds = 4;

    uint64_t number = 0;     // its place among all messages of the phase; some numbers are not used
    uint64_t bytes = 0;      // of data
    bool continues = false;  // the step of the message before it
    uint32_t need_count = 0;
    std::array<Need, kMostNeeds> needs{};

    void wait_for(uint32_t inlet, uint64_t message) {
        needs[need_count] = {inlet, need_count, message};
        ++need_count;
    }
};

// Messages [first, end) of a stream are alike, `period` apart, up to a byte of their size: what
// each of them waits for, and what waits for it. No period: nothing repeats.
struct Repetition {
    uint64_t period = 0;
    uint64_t first = 0;
    uint64_t end = 0;
};

class Schedule {
public:
    // None where there is no closed form: there is one for rings, chains, trees, and for everybody
    // to everybody, unless so few bytes are sent that some messages would be empty.
    // The options are in order, and nothing in them is automatic.
    static std::shared_ptr<const Schedule> make(const CollectiveOptions& options,
                                                std::shared_ptr<const Placement> placement);

    const Placement& placement() const { return *placement_; }
    const CollectiveOptions& options() const { return options_; }

    // Streams of each member; some may have no messages. Those without a gate come first.
    uint32_t stream_count() const { return streams_; }
    Stream stream(uint32_t member, uint32_t index) const;
    StreamMessage message(uint32_t member, uint32_t index, uint64_t k) const;
    // Streams of the member that open when a turn of it ends: from the first up to the second.
    std::pair<uint32_t, uint32_t> opened_by(uint32_t member, uint32_t turn) const;
    // The stream with whose last message a turn of the member ends.
    uint32_t ends_turn(uint32_t member, uint32_t turn) const;
    // Whose messages arrive at an inlet.
    struct Source {
        uint32_t member = 0;
        uint32_t stream = 0;
    };
    Source source(uint32_t member, uint32_t inlet) const;
    // What message k of a stream is part of: steps of a ring, pieces of a chain or tree. Streams of
    // all members repeat in the same way, if one does.
    Repetition repetition(uint32_t index, uint64_t k) const;
    // Whether all streams of the other one repeat in the same way: rings and chains of as many
    // members and the same sizes.
    bool repeats_like(const Schedule& other) const;
    // Whether messages of a stream may wait for what arrives at an inlet of the same member.
    bool may_feed(uint32_t inlet, uint32_t index) const;
    // Of data, in all of its messages.
    uint64_t stream_bytes(uint32_t member, uint32_t index) const;
    // Messages of a stream that may be under way at once.
    uint64_t most_under_way() const;
    // Inlets whose messages somebody may wait for; 0: they are only counted.
    uint32_t inlet_count() const { return inlets_; }
    // Messages to a member.
    uint64_t arrivals(uint32_t member) const;
    // All messages, of all members.
    uint64_t messages() const { return messages_; }
    // All numbers are below.
    uint64_t numbers() const { return numbers_; }

    // As the library sends it.
    uint64_t wire_bytes(uint64_t bytes) const { return options_.software.wire_bytes(bytes); }
    base::Duration software(Tier tier, const StreamMessage& message) const {
        return options_.software.before(tier, message.bytes,
                                        message.continues && options_.software.passes_on_lines);
    }
    // Of what software takes before any message; zero: nothing, hosts.reaction counts.
    base::Duration least_software() const;

private:
    enum class Kind : uint8_t { ring, chain, tree, broadcast, direct, rails };

    // Part of a ring's data that goes round before the next begins.
    struct Turn {
        uint64_t first = 0;  // message of a stream
        Range data;
        uint64_t pieces = 1;
        uint64_t bytes = 0;  // of all blocks
    };
    // One channel of a ring or chain.
    struct Ring {
        std::vector<uint32_t> order;
        std::vector<uint32_t> position;  // of each member in it
        std::vector<Turn> turns;
        uint64_t messages = 0;  // of a stream
        uint64_t base = 0;      // its first number
    };
    struct Tree {
        static constexpr uint32_t kMostChildren = 2;
        std::vector<uint32_t> parents;
        std::vector<uint32_t>
            depth_order;  // place of each node among all, nearest to the root first
        std::vector<std::array<uint32_t, kMostChildren>> children;
        std::vector<uint32_t> child_count;
        std::vector<uint32_t> index_at_parent;
        uint32_t top() const {
            uint32_t node = 0;
            while (parents[node] != node) node = parents[node];
            return node;
        }
    };
    // Where a member is in a channel's trees.
    struct TreePlace {
        uint32_t server = 0;
        uint32_t chain = 0;   // its place in the server's chain
        uint32_t length = 0;  // of the chain
    };
    // The same in those of a broadcast: a node of the tree, or the root's server.
    struct BroadcastPlace {
        bool is_home = false;
        uint32_t node = 0;
        uint32_t position = 0;  // in the server's chain
        uint32_t length = 0;
    };
    // A member's streams and inlets of one tree.
    enum Slot : uint32_t { kUp, kFirstChild, kNextInChain = 3, kSlots };

    Schedule(const CollectiveOptions& options, std::shared_ptr<const Placement> placement,
             Kind kind);
    static std::optional<Kind> kind_of(const CollectiveOptions& options);

    Range channel_data(uint16_t channel) const;
    void note_smallest(uint64_t block, uint64_t pieces);
    void make_rings();
    void make_ring(uint16_t channel);
    void add_turn(Ring& ring, uint16_t channel, Range data);
    void make_chain(uint16_t channel);
    void make_trees();
    static void make_tree(Tree& tree, std::vector<uint32_t> parents);
    void make_broadcast();
    void make_direct();

    uint32_t ring_steps() const;
    Range ring_block(const Turn& turn, uint32_t position, uint16_t channel) const;
    // Where message k of a channel is: pieces of each block go round in batches.
    struct RingPlace {
        const Turn& turn;
        uint64_t first = 0;   // message of the batch
        uint64_t begin = 0;   // and its first piece, ...
        uint64_t length = 0;  // ... of so many
    };
    RingPlace ring_place(uint16_t channel, uint64_t k) const;
    Stream ring_stream(uint32_t member, uint16_t channel) const;
    StreamMessage ring_message(uint32_t member, uint16_t channel, uint64_t k) const;
    uint64_t ring_bytes(uint32_t position, uint16_t channel) const;
    StreamMessage chain_message(uint32_t member, uint16_t channel, uint64_t k) const;

    TreePlace tree_place(uint32_t member, uint16_t channel) const;
    uint32_t in_chain(uint32_t server, uint16_t channel, uint32_t index) const;
    bool has_slot(const TreePlace& place, const Tree& tree, uint32_t slot) const;
    uint32_t tree_peer(const TreePlace& place, uint16_t channel, const Tree& tree,
                       uint32_t slot) const;
    Stream tree_stream(uint32_t member, uint32_t index) const;
    Source tree_source(uint32_t member, uint32_t inlet) const;
    StreamMessage tree_message(uint32_t member, uint32_t index, uint64_t k) const;
    uint64_t tree_edge(const TreePlace& place, const Tree& tree, uint32_t slot) const;
    uint64_t tree_pieces(uint16_t channel) const;
    void wait_for_ups(StreamMessage& message, const TreePlace& place, uint32_t tree,
                      uint64_t k) const;

    uint32_t server_at(uint32_t node) const;
    uint32_t root_in_chain(uint16_t channel) const;
    BroadcastPlace broadcast_place(uint32_t member, uint16_t channel) const;
    uint32_t at_home(uint32_t position, uint16_t channel) const;
    uint32_t feeder_position() const;
    bool has_broadcast(const BroadcastPlace& place, const Tree& tree, uint32_t slot) const;
    Stream broadcast_stream(uint32_t member, uint32_t index) const;
    uint64_t broadcast_edge(const BroadcastPlace& place, const Tree& tree, uint32_t slot) const;
    StreamMessage broadcast_message(uint32_t member, uint32_t index, uint64_t k) const;
    Source broadcast_source(uint32_t member, uint32_t inlet) const;

    // Members that a member serves without waiting, then the others in its order.
    struct DirectPeer {
        uint32_t member = 0;
        uint32_t position = 0;  // in the list of distances
        uint32_t turn = Stream::kNoTurn;
    };
    DirectPeer direct_peer(uint32_t member, uint32_t index) const;
    Range direct_range(uint32_t from, uint32_t to) const;
    uint64_t direct_pieces(uint32_t from, uint32_t to) const;
    Stream direct_stream(uint32_t member, uint32_t index) const;
    StreamMessage direct_message(uint32_t member, uint32_t index, uint64_t k) const;
    uint32_t window_between(uint32_t from, uint32_t to) const;

    // A stream of PXN: inside a server, or to the same place of another one.
    struct RailStream {
        bool leaves = false;
        uint16_t channel = 0;
        uint32_t place = 0;  // of the sender
        uint32_t server = 0;
        uint32_t peer = 0;    // a member
        uint32_t turn = 0;    // if it leaves
        uint32_t offset = 0;  // otherwise: so many places further
    };
    struct RailData {
        uint32_t from = 0;
        uint32_t to = 0;
    };
    void make_rails();
    RailStream rail_stream_at(uint32_t member, uint32_t index) const;
    Stream rail_stream(uint32_t member, uint32_t index) const;
    Source rail_source(uint32_t member, uint32_t inlet) const;
    RailData rail_data(uint32_t member, const RailStream& stream, uint32_t segment) const;
    uint64_t rail_number(uint32_t member, const RailStream& stream, uint32_t segment) const;
    StreamMessage rail_message(uint32_t member, uint32_t index, uint64_t k) const;
    uint64_t rail_bytes(uint32_t member, uint32_t index) const;
    // Streams of a member before those that take turns.
    uint32_t streams_inside(uint32_t member) const;

    CollectiveOptions options_;
    std::shared_ptr<const Placement> placement_;
    Kind kind_ = Kind::ring;
    uint32_t members_ = 0;
    uint32_t streams_ = 0;
    uint32_t inlets_ = 0;
    uint64_t messages_ = 0;
    uint64_t numbers_ = 0;
    uint64_t smallest_bytes_ = UINT64_MAX;  // of a message

    std::vector<Ring> rings_;  // by channel
    std::array<Tree, 2> trees_;
    std::vector<uint64_t> tree_base_;   // by channel: the first number
    std::vector<uint64_t> chain_base_;  // of a broadcast, by node: its first edge
    uint32_t servers_ = 0;              // of PXN, ...
    uint32_t places_ = 0;               // ... and members of each
    uint64_t most_pieces_ = 1;          // from one to another, of everybody to everybody
};

}  // namespace tulle::workload
