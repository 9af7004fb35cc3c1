#include "workload/schedules/tree_broadcast.h"

namespace tulle::workload {

TreeBroadcast::TreeBroadcast(const CollectiveOptions& options, const Placement& placement)
    : TreeShape(options, placement) {
    if (members_ < 2) return;
    const uint32_t home = placement_.server_of(options_.root);
    const uint32_t servers = placement_.server_count();
    trees_[0] = Tree(binary_tree(servers - 1));
    trees_[1] = Tree(complementary_tree(servers - 1));
    uint64_t edges = uint64_t{placement_.count_of(home)} - 1 + (servers - 1);
    for (uint32_t node = 0; node + 1 < servers; ++node) {
        chain_base_.push_back(edges);
        edges += placement_.count_of(server_at(node)) - 1;
    }
    number_messages(edges);
}

uint32_t TreeBroadcast::server_at(uint32_t node) const {
    return (placement_.server_of(options_.root) + 1 + node) % placement_.server_count();
}

// The root's original position in its server's chain, before it was moved to the front.
uint32_t TreeBroadcast::root_in_chain(uint16_t channel) const {
    return TreeShape::place_of(options_.root, channel).chain;
}

TreeBroadcast::BroadcastPlace TreeBroadcast::place_of(uint32_t member, uint16_t channel) const {
    const TreePlace its = TreeShape::place_of(member, channel);
    const uint32_t servers = placement_.server_count();
    const uint32_t home = placement_.server_of(options_.root);
    BroadcastPlace place{its.server == home, 0, its.chain, its.length};
    if (!place.is_home)
        place.node = (its.server + servers - home - 1) % servers;
    else if (member == options_.root)
        place.position = 0;
    else if (its.chain < root_in_chain(channel))
        ++place.position;
    return place;
}

uint32_t TreeBroadcast::at_home(uint32_t position, uint16_t channel) const {
    if (position == 0) return options_.root;
    const uint32_t chain = position - 1 < root_in_chain(channel) ? position - 1 : position;
    return in_chain(placement_.server_of(options_.root), channel, chain);
}

// The position that feeds the trees.
uint32_t TreeBroadcast::feeder_position() const {
    return placement_.count_of(placement_.server_of(options_.root)) > 1 ? 1 : 0;
}

bool TreeBroadcast::has_slot(const BroadcastPlace& place, const Tree& tree, uint32_t slot) const {
    switch (slot) {
        case kUp:
            return place.is_home && place.position == feeder_position() && !tree.parents.empty();
        case kNextInChain: return place.position + 1 < place.length;
        default:
            return !place.is_home && place.position == 0 &&
                   slot - kFirstChild < tree.child_count[place.node];
    }
}

Stream TreeBroadcast::stream(uint32_t member, uint32_t index) const {
    const uint32_t slot = index % kSlots;
    const uint32_t which = index / kSlots;  // channel and tree
    const auto channel = static_cast<uint16_t>(which / 2);
    const Tree& tree = trees_[which % 2];
    const BroadcastPlace place = place_of(member, channel);
    Stream stream;
    if (!has_slot(place, tree, slot)) return stream;
    if (slot == kUp)
        stream.peer = in_chain(server_at(tree.top()), channel, 0);
    else if (slot != kNextInChain)
        stream.peer =
            in_chain(server_at(tree.children[place.node][slot - kFirstChild]), channel, 0);
    else if (place.is_home)
        stream.peer = at_home(place.position + 1, channel);
    else
        stream.peer = in_chain(server_at(place.node), channel, place.position + 1);
    stream.tier = placement_.tier(member, stream.peer);
    stream.channel = static_cast<uint16_t>(which);
    stream.inlet = which * kSlots + kUp;
    stream.messages = pieces(channel);
    stream.window = window_between(member, stream.peer);
    return stream;
}

// Its position in the list of a piece: along the root's chain, into the tree, down, along the
// chains.
uint64_t TreeBroadcast::edge(const BroadcastPlace& place, const Tree& tree, uint32_t slot) const {
    const uint64_t home = placement_.count_of(placement_.server_of(options_.root)) - 1;
    if (slot == kUp) return home;
    if (slot != kNextInChain)
        return home + tree.depth_order[tree.children[place.node][slot - kFirstChild]];
    return place.position + (place.is_home ? 0 : chain_base_[place.node]);
}

StreamMessage TreeBroadcast::message(uint32_t member, uint32_t index, uint64_t k) const {
    const uint32_t which = index / kSlots;
    const auto channel = static_cast<uint16_t>(which / 2);
    const BroadcastPlace place = place_of(member, channel);
    StreamMessage message;
    message.number = base_[channel] + (2 * k + which % 2) * (uint64_t{members_} - 1) +
                     edge(place, trees_[which % 2], index % kSlots);
    message.bytes = part(half(which), pieces(channel), k).size();
    if (member != options_.root) message.wait_for(which * kSlots + kUp, k);
    return message;
}

StreamSource TreeBroadcast::source(uint32_t member, uint32_t inlet) const {
    const uint32_t which = inlet / kSlots;
    const auto channel = static_cast<uint16_t>(which / 2);
    const Tree& tree = trees_[which % 2];
    const BroadcastPlace place = place_of(member, channel);
    const uint32_t first = which * kSlots;
    if (place.is_home) return {at_home(place.position - 1, channel), first + kNextInChain};
    const uint32_t server = server_at(place.node);
    if (place.position > 0)
        return {in_chain(server, channel, place.position - 1), first + kNextInChain};
    const uint32_t parent = tree.parents[place.node];
    if (parent == place.node) return {at_home(feeder_position(), channel), first + kUp};
    return {in_chain(server_at(parent), channel, 0),
            first + kFirstChild + tree.index_at_parent[place.node]};
}

uint64_t TreeBroadcast::arrivals(uint32_t member) const {
    uint64_t sum = 0;
    for (uint16_t channel = 0; channel < options_.channels && members_ > 1; ++channel)
        sum += member == options_.root ? 0 : 2 * pieces(channel);
    return sum;
}

}  // namespace tulle::workload
