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
// Two levels, sums in switches, and halving and doubling have no schedule yet. A generated phase
// names its ranks and the phases that a rank must have ended before it (GeneratedPhase::after),
// because phases may use subsets of the ranks and overlap.
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
    // The inlet of the peer where its messages arrive; no other stream uses it.
    uint32_t inlet = 0;
    uint64_t messages = 0;
    // Message k waits until message k - window is known to have arrived; 0: no limit.
    uint32_t window = 0;
    // The stream opens when turn `gate` of the same member ends. A turn ends with the last message
    // of the stream whose `turn` it is.
    uint32_t gate = kNoTurn;
    uint32_t turn = kNoTurn;
};

// One message of a stream.
struct StreamMessage {
    struct Need {
        uint32_t inlet = 0;
        uint32_t place = 0;  // index among its needs
        uint64_t message = 0;
    };
    static constexpr size_t kMostNeeds = 4;

    uint64_t number = 0;     // index among all messages of the phase; some are unused
    uint64_t bytes = 0;      // of data
    bool continues = false;  // belongs to the step of the message before it
    uint32_t need_count = 0;
    std::array<Need, kMostNeeds> needs{};

    void wait_for(uint32_t inlet, uint64_t message) {
        needs[need_count] = {inlet, need_count, message};
        ++need_count;
    }
};

// Messages [first, end) of a stream repeat with this period: they have the same dependencies in
// both directions, and sizes within a byte. Period 0: nothing repeats.
struct Repetition {
    uint64_t period = 0;
    uint64_t first = 0;
    uint64_t end = 0;
};

class Schedule {
public:
    // Null if there is no closed form. There is one for rings, chains, trees, and for all-to-all
    // patterns, unless they send so few bytes that some messages would be empty. The options must
    // be valid, with nothing automatic left.
    static std::shared_ptr<const Schedule> make(const CollectiveOptions& options,
                                                std::shared_ptr<const Placement> placement);

    const Placement& placement() const { return *placement_; }
    const CollectiveOptions& options() const { return options_; }

    // The number of streams of each member; some may have no messages. Those without a gate come
    // first.
    uint32_t stream_count() const { return streams_; }
    Stream stream(uint32_t member, uint32_t index) const;
    StreamMessage message(uint32_t member, uint32_t index, uint64_t k) const;
    // The streams [first, second) of the member that open when a turn of it ends.
    std::pair<uint32_t, uint32_t> opened_by(uint32_t member, uint32_t turn) const;
    // The stream whose last message ends a turn of the member.
    uint32_t ends_turn(uint32_t member, uint32_t turn) const;
    // The stream whose messages arrive at an inlet.
    struct Source {
        uint32_t member = 0;
        uint32_t stream = 0;
    };
    Source source(uint32_t member, uint32_t inlet) const;
    // The repetition that message k of a stream belongs to: steps of a ring, pieces of a chain or
    // tree. Streams of all members repeat in the same way, if one does.
    Repetition repetition(uint32_t index, uint64_t k) const;
    // Whether all streams of the other schedule repeat in the same way: rings and chains with
    // equally many members and the same sizes.
    bool repeats_like(const Schedule& other) const;
    // Whether all messages of all streams are alike: pieces of chains and trees.
    bool repeats_throughout() const {
        return kind_ == Kind::chain || kind_ == Kind::tree || kind_ == Kind::broadcast;
    }
    // Whether messages of a stream may wait for what arrives at an inlet of the same member.
    bool may_feed(uint32_t inlet, uint32_t index) const;
    // Bytes of data in all messages of the stream.
    uint64_t stream_bytes(uint32_t member, uint32_t index) const;
    // The most messages of a stream that may be in flight.
    uint64_t most_under_way() const;
    // The number of inlets whose messages others may wait for; 0: messages are only counted.
    uint32_t inlet_count() const { return inlets_; }
    // The number of messages to a member.
    uint64_t arrivals(uint32_t member) const;
    // The number of messages of all members.
    uint64_t messages() const { return messages_; }
    // All message numbers are below this.
    uint64_t numbers() const { return numbers_; }

    // The size of a message on the wire, with the library's flags.
    uint64_t wire_bytes(uint64_t bytes) const { return options_.software.wire_bytes(bytes); }
    base::Duration software(Tier tier, const StreamMessage& message) const {
        return options_.software.before(tier, message.bytes,
                                        message.continues && options_.software.passes_on_lines);
    }
    // The least software time before any message; zero: none, so hosts.reaction applies.
    base::Duration least_software() const;

private:
    enum class Kind : uint8_t { ring, chain, tree, broadcast, direct, rails };

    // A part of a ring's data. It goes round completely before the next part begins.
    struct Turn {
        uint64_t first = 0;  // index of its first message in a stream
        Range data;
        uint64_t pieces = 1;
        uint64_t bytes = 0;  // of all blocks together
    };
    // One channel of a ring or chain.
    struct Ring {
        std::vector<uint32_t> order;
        std::vector<uint32_t> position;  // by member
        std::vector<Turn> turns;
        uint64_t messages = 0;  // of a stream
        uint64_t base = 0;      // number of its first message
    };
    struct Tree {
        static constexpr uint32_t kMostChildren = 2;
        std::vector<uint32_t> parents;
        std::vector<uint32_t> depth_order;  // position of each node, nearest to the root first
        std::vector<std::array<uint32_t, kMostChildren>> children;
        std::vector<uint32_t> child_count;
        std::vector<uint32_t> index_at_parent;
        uint32_t top() const {
            uint32_t node = 0;
            while (parents[node] != node) node = parents[node];
            return node;
        }
    };
    // The position of a member in a channel's trees.
    struct TreePlace {
        uint32_t server = 0;
        uint32_t chain = 0;   // position in the server's chain
        uint32_t length = 0;  // of the chain
    };
    // The same for a broadcast: in a node of the tree, or in the root's server.
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
    // The position of message k of a channel. Pieces of each block go round in batches.
    struct RingPlace {
        const Turn& turn;
        uint64_t first = 0;   // the batch's first message
        uint64_t begin = 0;   // its first piece
        uint64_t length = 0;  // its number of pieces
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

    // First the peers that a member serves without waiting, then the others in the member's order.
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

    // A stream of PXN: inside a server, or to the same place of another server.
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
    void make_rails();
    RailStream rail_stream_at(uint32_t member, uint32_t index) const;
    Stream rail_stream(uint32_t member, uint32_t index) const;
    Source rail_source(uint32_t member, uint32_t inlet) const;
    RailData rail_data(uint32_t member, const RailStream& stream, uint32_t segment) const;
    uint64_t rail_number(uint32_t member, const RailStream& stream, uint32_t segment) const;
    StreamMessage rail_message(uint32_t member, uint32_t index, uint64_t k) const;
    uint64_t rail_bytes(uint32_t member, uint32_t index) const;
    // The number of a member's streams before those that take turns.
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
    std::vector<uint64_t> tree_base_;   // by channel: number of the first message
    std::vector<uint64_t> chain_base_;  // for a broadcast, by node: number of its first edge
    uint32_t servers_ = 0;              // of PXN
    uint32_t places_ = 0;               // of PXN: members of each server
    uint64_t most_pieces_ = 1;          // for all-to-all: pieces from one member to another
};

}  // namespace tulle::workload
