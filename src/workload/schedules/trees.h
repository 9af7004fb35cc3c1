// Trees in closed form, as in tree.cc: the members of a server are a chain whose first is a node of
// both trees.
//
// In an all-reduce, the streams and inlets of a member in a tree have the same names: up (for an
// inlet: from above), a child, the chain. A message up waits for all messages from below, a message
// down for the one from above.
#pragma once

#include <vector>

#include "workload/schedules/shape.h"

namespace tulle::workload {

// What trees up and down and trees down have in common.
class TreeShape : public Shape {
public:
    using Shape::Shape;

    Repetition repetition(uint32_t index, uint64_t) const {
        return {1, 0, pieces(static_cast<uint16_t>(index / kSlots / 2))};
    }
    static constexpr bool repeats_throughout() { return true; }
    bool may_feed(uint32_t inlet, uint32_t index) const { return inlet / kSlots == index / kSlots; }
    uint64_t most_under_way() const;

protected:
    struct Tree {
        static constexpr uint32_t kMostChildren = 2;

        Tree() = default;
        explicit Tree(std::vector<uint32_t> its_parents);

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
    // The position of a member in a channel's chains.
    struct TreePlace {
        uint32_t server = 0;
        uint32_t chain = 0;   // position in the server's chain
        uint32_t length = 0;  // of the chain
    };
    // A member's streams and inlets of one tree.
    enum Slot : uint32_t { kUp, kFirstChild, kNextInChain = 3, kSlots };

    uint64_t pieces(uint16_t channel) const;
    TreePlace place_of(uint32_t member, uint16_t channel) const;
    uint32_t in_chain(uint32_t server, uint16_t channel, uint32_t index) const;
    // Bytes of one of the two trees of a channel.
    Range half(uint32_t which) const {
        return part(channel_data(static_cast<uint16_t>(which / 2)), 2, which % 2);
    }
    // Numbers the messages of all channels; a piece goes over this many edges of a tree.
    void number_messages(uint64_t edges);

    std::array<Tree, 2> trees_;
    std::vector<uint64_t> base_;  // by channel: number of the first message
};

class Trees : public TreeShape {
public:
    Trees(const CollectiveOptions& options, const Placement& placement);

    Stream stream(uint32_t member, uint32_t index) const;
    StreamMessage message(uint32_t member, uint32_t index, uint64_t k) const;
    StreamSource source(uint32_t member, uint32_t inlet) const;
    uint64_t stream_bytes(uint32_t member, uint32_t index) const;
    uint64_t arrivals(uint32_t member) const;

private:
    bool has_slot(const TreePlace& place, const Tree& tree, uint32_t slot) const;
    uint32_t peer(const TreePlace& place, uint16_t channel, const Tree& tree, uint32_t slot) const;
    uint64_t edge(const TreePlace& place, const Tree& tree, uint32_t slot) const;
    void wait_for_ups(StreamMessage& message, const TreePlace& place, uint32_t which,
                      uint64_t k) const;
};

}  // namespace tulle::workload
