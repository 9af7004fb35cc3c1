#include "workload/schedules/trees.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace tulle::workload {

TreeShape::Tree::Tree(std::vector<uint32_t> its_parents) : parents(std::move(its_parents)) {
    const auto nodes = static_cast<uint32_t>(parents.size());
    std::vector<uint32_t> depth(nodes);
    for (uint32_t i = 0; i < nodes; ++i)
        for (uint32_t node = i; parents[node] != node; node = parents[node]) ++depth[i];
    std::vector<uint32_t> down(nodes);
    std::iota(down.begin(), down.end(), 0);
    std::stable_sort(down.begin(), down.end(),
                     [&](uint32_t a, uint32_t b) { return depth[a] < depth[b]; });
    depth_order.resize(nodes);
    children.resize(nodes);
    child_count.resize(nodes);
    index_at_parent.resize(nodes);
    for (uint32_t q = 0; q < nodes; ++q) {
        const uint32_t node = down[q];
        const uint32_t parent = parents[node];
        depth_order[node] = q;
        if (parent == node) continue;
        index_at_parent[node] = child_count[parent]++;
        TULLE_CHECK(index_at_parent[node] < kMostChildren);
        children[parent][index_at_parent[node]] = node;
    }
}

uint64_t TreeShape::pieces(uint16_t channel) const {
    return parts_of(part(channel_data(channel), 2, 1).size(), options_.chunking.chunk);
}

TreeShape::TreePlace TreeShape::place_of(uint32_t member, uint16_t channel) const {
    TreePlace place;
    place.server = placement_.server_of(member);
    place.length = placement_.count_of(place.server);
    const uint32_t local = member - placement_.first_of(place.server);
    place.chain = (local + place.length - channel % place.length) % place.length;
    return place;
}

uint32_t TreeShape::in_chain(uint32_t server, uint16_t channel, uint32_t index) const {
    const uint32_t count = placement_.count_of(server);
    return placement_.first_of(server) + (channel % count + index) % count;
}

void TreeShape::number_messages(uint64_t edges) {
    for (uint16_t channel = 0; channel < options_.channels; ++channel) {
        base_.push_back(counts_.numbers);
        note_smallest(half(2u * channel).size(), pieces(channel));
        counts_.numbers += pieces(channel) * 2 * edges;
    }
    counts_.messages = counts_.numbers;
    counts_.streams = counts_.inlets = options_.channels * 2 * kSlots;
}

uint64_t TreeShape::most_under_way() const {
    uint64_t most = 1;
    for (uint16_t channel = 0; channel < options_.channels; ++channel)
        most = std::max(most, pieces(channel));
    return most;
}

Trees::Trees(const CollectiveOptions& options, const Placement& placement)
    : TreeShape(options, placement) {
    if (members_ < 2) return;
    trees_[0] = Tree(binary_tree(placement_.server_count()));
    trees_[1] = Tree(complementary_tree(placement_.server_count()));
    number_messages(2 * (uint64_t{members_} - 1));
}

bool Trees::has_slot(const TreePlace& place, const Tree& tree, uint32_t slot) const {
    switch (slot) {
        case kUp: return place.chain > 0 || tree.parents[place.server] != place.server;
        case kNextInChain: return place.chain + 1 < place.length;
        default: return place.chain == 0 && slot - kFirstChild < tree.child_count[place.server];
    }
}

uint32_t Trees::peer(const TreePlace& place, uint16_t channel, const Tree& tree,
                     uint32_t slot) const {
    if (slot == kNextInChain) return in_chain(place.server, channel, place.chain + 1);
    if (slot != kUp) return in_chain(tree.children[place.server][slot - kFirstChild], channel, 0);
    if (place.chain > 0) return in_chain(place.server, channel, place.chain - 1);
    return in_chain(tree.parents[place.server], channel, 0);
}

Stream Trees::stream(uint32_t member, uint32_t index) const {
    const uint32_t slot = index % kSlots;
    const uint32_t which = index / kSlots;  // channel and tree
    const auto channel = static_cast<uint16_t>(which / 2);
    const Tree& tree = trees_[which % 2];
    const TreePlace place = place_of(member, channel);
    Stream stream;
    if (!has_slot(place, tree, slot)) return stream;
    stream.peer = peer(place, channel, tree, slot);
    stream.tier = placement_.tier(member, stream.peer);
    stream.channel = static_cast<uint16_t>(which);
    uint32_t inlet = kUp;  // from above
    if (slot == kUp)
        inlet = place.chain > 0 ? uint32_t{kNextInChain}
                                : kFirstChild + tree.index_at_parent[place.server];
    stream.inlet = which * kSlots + inlet;
    stream.messages = pieces(channel);
    stream.window = window_between(member, stream.peer);
    return stream;
}

// A message from above is sent down, and a message from below is sent up.
StreamSource Trees::source(uint32_t member, uint32_t inlet) const {
    const uint32_t which = inlet / kSlots;
    const auto channel = static_cast<uint16_t>(which / 2);
    const Tree& tree = trees_[which % 2];
    const TreePlace place = place_of(member, channel);
    const uint32_t slot = inlet % kSlots;
    uint32_t there = kUp;
    if (slot == kUp)
        there = place.chain > 0 ? uint32_t{kNextInChain}
                                : kFirstChild + tree.index_at_parent[place.server];
    return {peer(place, channel, tree, slot), which * kSlots + there};
}

// Its position in the list of a piece: up the chains, up the tree, down the tree, down the chains.
uint64_t Trees::edge(const TreePlace& place, const Tree& tree, uint32_t slot) const {
    const uint64_t servers = placement_.server_count();
    const uint64_t before = placement_.first_of(place.server) - place.server;  // in chains
    if (slot == kUp && place.chain > 0) return before + place.length - 1 - place.chain;
    if (slot == kUp) return members_ - servers + (servers - 1 - tree.depth_order[place.server]);
    if (slot == kNextInChain) return members_ - 1 + servers - 1 + before + place.chain;
    const uint32_t child = tree.children[place.server][slot - kFirstChild];
    return members_ - 1 + tree.depth_order[child] - 1;
}

void Trees::wait_for_ups(StreamMessage& message, const TreePlace& place, uint32_t which,
                         uint64_t k) const {
    for (uint32_t slot = kFirstChild; slot < kSlots; ++slot)
        if (has_slot(place, trees_[which % 2], slot)) message.wait_for(which * kSlots + slot, k);
}

StreamMessage Trees::message(uint32_t member, uint32_t index, uint64_t k) const {
    const uint32_t slot = index % kSlots;
    const uint32_t which = index / kSlots;
    const auto channel = static_cast<uint16_t>(which / 2);
    const Tree& tree = trees_[which % 2];
    const TreePlace place = place_of(member, channel);
    const uint64_t edges = 2 * (uint64_t{members_} - 1);
    StreamMessage message;
    message.number = base_[channel] + (2 * k + which % 2) * edges + edge(place, tree, slot);
    message.bytes = part(half(which), pieces(channel), k).size();
    if (slot == kUp || !has_slot(place, tree, kUp))
        wait_for_ups(message, place, which, k);
    else
        message.wait_for(which * kSlots + kUp, k);
    return message;
}

uint64_t Trees::stream_bytes(uint32_t, uint32_t index) const {
    return half(index / kSlots).size();
}

uint64_t Trees::arrivals(uint32_t member) const {
    uint64_t sum = 0;
    for (uint16_t channel = 0; channel < options_.channels && members_ > 1; ++channel) {
        const TreePlace place = place_of(member, channel);
        for (const Tree& tree : trees_)
            for (uint32_t slot = 0; slot < kSlots; ++slot)
                sum += has_slot(place, tree, slot) ? pieces(channel) : 0;
    }
    return sum;
}

}  // namespace tulle::workload
