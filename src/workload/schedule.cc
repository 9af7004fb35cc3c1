#include "workload/schedule.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace tulle::workload {

namespace {

// A limit on the table of turns of all channels of a ring. Chosen: the table has a few megabytes at
// most.
constexpr uint64_t kMostTurns = 100'000;

uint64_t turns_of(const CollectiveOptions& options, uint64_t members) {
    const uint64_t slices = options.chunking.at_once();
    const bool takes_turns = options.algorithm == Algorithm::ring &&
                             options.collective == Collective::all_reduce && slices != 0;
    if (!takes_turns) return 1;
    return options.bytes / options.chunking.chunk / slices / std::max<uint64_t>(1, members);
}

}  // namespace

std::optional<Schedule::Kind> Schedule::kind_of(const CollectiveOptions& options) {
    const bool is_broadcast = options.collective == Collective::broadcast;
    switch (options.algorithm) {
        case Algorithm::ring: return is_broadcast ? Kind::chain : Kind::ring;
        case Algorithm::tree: return is_broadcast ? Kind::broadcast : Kind::tree;
        case Algorithm::direct: return options.pxn ? Kind::rails : Kind::direct;
        default: return std::nullopt;
    }
}

std::shared_ptr<const Schedule> Schedule::make(const CollectiveOptions& asked,
                                               std::shared_ptr<const Placement> placement) {
    TULLE_CHECK(!check(asked, *placement));
    const std::optional<Kind> kind = kind_of(asked);
    if (!kind) return nullptr;
    CollectiveOptions options = asked;
    if (options.channels == 0) options.channels = usual_channels(options, *placement);
    if (turns_of(options, placement->size()) > kMostTurns) return nullptr;
    const std::shared_ptr<const Schedule> made(new Schedule(options, std::move(placement), *kind));
    return made->smallest_bytes_ == 0 ? nullptr : made;
}

Schedule::Schedule(const CollectiveOptions& options, std::shared_ptr<const Placement> placement,
                   Kind kind)
    : options_(options),
      placement_(std::move(placement)),
      kind_(kind),
      members_(placement_->size()) {
    if (members_ < 2) return;
    switch (kind_) {
        case Kind::direct: make_direct(); break;
        case Kind::rails: make_rails(); break;
        case Kind::tree: make_trees(); break;
        case Kind::broadcast: make_broadcast(); break;
        case Kind::ring:
        case Kind::chain: make_rings(); break;
    }
}

void Schedule::make_rings() {
    for (uint16_t channel = 0; channel < options_.channels; ++channel)
        kind_ == Kind::ring ? make_ring(channel) : make_chain(channel);
    streams_ = inlets_ = options_.channels;
}

Range Schedule::channel_data(uint16_t channel) const {
    return part({0, options_.bytes}, options_.channels, channel);
}

// Notes the size of the smallest piece, if a block is cut into `pieces`.
void Schedule::note_smallest(uint64_t block, uint64_t pieces) {
    smallest_bytes_ = std::min(smallest_bytes_, block / pieces);
}

uint32_t Schedule::window_between(uint32_t from, uint32_t to) const {
    const bool is_inside = placement_->tier(from, to) == Tier::scale_up;
    const Chunking& chunking = options_.chunking;
    return is_inside && chunking.inside_window != 0 ? chunking.inside_window : chunking.window;
}

Stream Schedule::stream(uint32_t member, uint32_t index) const {
    switch (kind_) {
        case Kind::ring:
        case Kind::chain: return ring_stream(member, static_cast<uint16_t>(index));
        case Kind::tree: return tree_stream(member, index);
        case Kind::broadcast: return broadcast_stream(member, index);
        case Kind::rails: return rail_stream(member, index);
        case Kind::direct: break;
    }
    return direct_stream(member, index);
}

StreamMessage Schedule::message(uint32_t member, uint32_t index, uint64_t k) const {
    switch (kind_) {
        case Kind::ring: return ring_message(member, static_cast<uint16_t>(index), k);
        case Kind::chain: return chain_message(member, static_cast<uint16_t>(index), k);
        case Kind::tree: return tree_message(member, index, k);
        case Kind::broadcast: return broadcast_message(member, index, k);
        case Kind::rails: return rail_message(member, index, k);
        case Kind::direct: break;
    }
    return direct_message(member, index, k);
}

bool Schedule::repeats_like(const Schedule& other) const {
    if (this == &other) return true;
    const Chunking& own = options_.chunking;
    const Chunking& its = other.options_.chunking;
    return (kind_ == Kind::ring || kind_ == Kind::chain) && kind_ == other.kind_ &&
           members_ == other.members_ && streams_ == other.streams_ &&
           options_.collective == other.options_.collective &&
           options_.bytes == other.options_.bytes && own.chunk == its.chunk &&
           own.at_once() == its.at_once();
}

bool Schedule::may_feed(uint32_t inlet, uint32_t index) const {
    switch (kind_) {
        case Kind::ring:
        case Kind::chain: return inlet == index;
        case Kind::tree:
        case Kind::broadcast: return inlet / kSlots == index / kSlots;
        default: return true;
    }
}

Schedule::Source Schedule::source(uint32_t member, uint32_t inlet) const {
    TULLE_CHECK(kind_ != Kind::direct);
    if (kind_ == Kind::tree) return tree_source(member, inlet);
    if (kind_ == Kind::broadcast) return broadcast_source(member, inlet);
    if (kind_ == Kind::rails) return rail_source(member, inlet);
    const Ring& ring = rings_[inlet];
    return {ring.order[(ring.position[member] + members_ - 1) % members_], inlet};
}

uint64_t Schedule::stream_bytes(uint32_t member, uint32_t index) const {
    const Stream its = stream(member, index);
    const auto channel = static_cast<uint16_t>(index);
    switch (kind_) {
        case Kind::direct: {
            const Range all = direct_range(member, its.peer);
            return part(all, options_.channels, its.channel).size();
        }
        case Kind::tree:
        case Kind::broadcast:
            return part(channel_data(static_cast<uint16_t>(its.channel / 2)), 2, its.channel % 2)
                .size();
        case Kind::chain: return channel_data(channel).size();
        case Kind::rails: return rail_bytes(member, index);
        case Kind::ring: break;
    }
    return ring_bytes(rings_[channel].position[member], channel);
}

// When reducing, a position sends each block but its own. When gathering, it sends each block but
// that of the next position.
uint64_t Schedule::ring_bytes(uint32_t position, uint16_t channel) const {
    uint64_t bytes = 0;
    for (const Turn& turn : rings_[channel].turns) {
        if (options_.collective != Collective::all_gather)
            bytes += turn.bytes - ring_block(turn, position, channel).size();
        if (options_.collective != Collective::reduce_scatter)
            bytes += turn.bytes - ring_block(turn, (position + 1) % members_, channel).size();
    }
    return bytes;
}

uint64_t Schedule::most_under_way() const {
    const Chunking& chunking = options_.chunking;
    if (chunking.window != 0) return std::max(chunking.window, chunking.inside_window);
    uint64_t most = most_pieces_ * std::max({1u, servers_, places_});
    for (const Ring& ring : rings_) most = std::max(most, ring.messages);
    const bool has_trees = kind_ == Kind::tree || kind_ == Kind::broadcast;
    for (uint16_t channel = 0; channel < options_.channels && has_trees; ++channel)
        most = std::max(most, tree_pieces(channel));
    return most;
}

uint64_t Schedule::arrivals(uint32_t member) const {
    uint64_t sum = 0;
    if (kind_ == Kind::rails)
        return most_pieces_ * options_.channels *
               (uint64_t{places_ - 1} * servers_ + uint64_t{servers_ - 1} * places_);
    if (kind_ == Kind::direct) {
        for (uint32_t from = 0; from < members_; ++from)
            if (from != member) sum += direct_pieces(from, member) * options_.channels;
        return sum;
    }
    for (uint16_t channel = 0; channel < options_.channels && members_ > 1; ++channel) {
        if (kind_ == Kind::broadcast) {
            sum += member == options_.root ? 0 : 2 * tree_pieces(channel);
            continue;
        }
        if (kind_ == Kind::tree) {
            const TreePlace place = tree_place(member, channel);
            for (const Tree& tree : trees_)
                for (uint32_t slot = 0; slot < kSlots; ++slot)
                    sum += has_slot(place, tree, slot) ? tree_pieces(channel) : 0;
            continue;
        }
        const Ring& ring = rings_[channel];
        const bool gets = kind_ == Kind::ring || ring.position[member] != 0;
        sum += gets ? ring.messages : 0;
    }
    return sum;
}

base::Duration Schedule::least_software() const {
    const Software& software = options_.software;
    base::Duration least{};
    const auto use = [&](Tier tier) {
        for (const bool continues : {false, software.passes_on_lines}) {
            const base::Duration one = software.before(tier, smallest_bytes_, continues);
            if (one.ps > 0 && (least.ps == 0 || one < least)) least = one;
        }
    };
    const bool has_inside = placement_->has_scale_up() && placement_->largest_server() > 1;
    if (members_ < 2) return least;
    if (has_inside) use(Tier::scale_up);
    if (!has_inside || placement_->server_count() > 1) use(Tier::scale_out);
    return least;
}

// Rings, as in ring.cc: in step s, position p sends the block that ends at position p - 1 - s.
// Message k has the same turn, step and piece for every position.

uint32_t Schedule::ring_steps() const {
    return (options_.collective == Collective::all_reduce ? 2 : 1) * (members_ - 1);
}

void Schedule::make_ring(uint16_t channel) {
    Ring& ring = rings_.emplace_back();
    ring.order = ring_order(*placement_, channel);
    ring.position.resize(members_);
    for (uint32_t p = 0; p < members_; ++p) ring.position[ring.order[p]] = p;
    ring.base = numbers_;
    if (options_.collective != Collective::all_reduce) {
        add_turn(ring, channel, {});
    } else {
        const Chunking& chunking = options_.chunking;
        const Range data = channel_data(channel);
        const uint64_t slices = chunking.at_once();
        const uint64_t turns =
            slices == 0 ? 1 : parts_of(data.size(), chunking.chunk * slices * members_);
        for (uint64_t turn = 0; turn < turns; ++turn)
            add_turn(ring, channel, part(data, turns, turn));
    }
    numbers_ += ring.messages * members_;
    messages_ += ring.messages * members_;
}

void Schedule::add_turn(Ring& ring, uint16_t channel, Range data) {
    Turn turn;
    turn.first = ring.messages;
    turn.data = data;
    uint64_t smallest = UINT64_MAX;
    uint64_t largest = 0;
    // Blocks of an all-reduce differ by at most one byte, and the last one is not smaller.
    const bool is_even = options_.collective == Collective::all_reduce;
    for (uint32_t p = 0; p < (is_even ? 1 : members_); ++p) {
        const uint64_t bytes = ring_block(turn, p, channel).size();
        smallest = std::min(smallest, bytes);
        largest = std::max(largest, bytes);
        turn.bytes += bytes;
    }
    if (is_even) {
        smallest = data.size() / members_;
        turn.bytes = data.size();
    }
    turn.pieces = parts_of(largest, options_.chunking.chunk);
    note_smallest(smallest, turn.pieces);
    ring.messages += turn.pieces * ring_steps();
    ring.turns.push_back(turn);
}

Range Schedule::ring_block(const Turn& turn, uint32_t position, uint16_t channel) const {
    if (options_.collective == Collective::all_reduce)
        return part(turn.data, members_, members_ - 1 - position);
    const uint32_t member = rings_[channel].order[position];
    return part(part({0, options_.bytes}, members_, member), options_.channels, channel);
}

Stream Schedule::ring_stream(uint32_t member, uint16_t channel) const {
    const Ring& ring = rings_[channel];
    const uint32_t position = ring.position[member];
    Stream stream;
    if (kind_ == Kind::chain && position + 1 == members_) return stream;
    stream.peer = ring.order[(position + 1) % members_];
    stream.tier = placement_->tier(member, stream.peer);
    stream.channel = channel;
    stream.inlet = channel;
    stream.messages = ring.messages;
    stream.window = window_between(member, stream.peer);
    return stream;
}

Schedule::RingPlace Schedule::ring_place(uint16_t channel, uint64_t k) const {
    const Ring& ring = rings_[channel];
    const auto after = std::upper_bound(ring.turns.begin(), ring.turns.end(), k,
                                        [](uint64_t at, const Turn& t) { return at < t.first; });
    const Turn& turn = *(after - 1);
    const uint64_t steps = ring_steps();
    const uint64_t slices = options_.chunking.at_once();
    const uint64_t batch = slices == 0 ? turn.pieces : slices;
    const uint64_t begin = (k - turn.first) / (batch * steps) * batch;
    return {turn, turn.first + begin * steps, begin, std::min(batch, turn.pieces - begin)};
}

Repetition Schedule::repetition(uint32_t index, uint64_t k) const {
    switch (kind_) {
        case Kind::ring: {
            const RingPlace place = ring_place(static_cast<uint16_t>(index), k);
            return {place.length, place.first + place.length,
                    place.first + place.length * ring_steps()};
        }
        case Kind::chain: return {1, 0, rings_[index].messages};
        case Kind::tree:
        case Kind::broadcast: return {1, 0, tree_pieces(static_cast<uint16_t>(index / kSlots / 2))};
        default: return {};
    }
}

StreamMessage Schedule::ring_message(uint32_t member, uint16_t channel, uint64_t k) const {
    const Ring& ring = rings_[channel];
    const RingPlace place = ring_place(channel, k);
    const Turn& turn = place.turn;
    const uint64_t in_batch = k - place.first;
    const uint64_t length = place.length;
    const auto step = static_cast<uint32_t>(in_batch / length);
    const uint64_t piece = place.begin + in_batch % length;
    const uint32_t first_step = options_.collective == Collective::all_gather ? members_ - 1 : 0;
    const uint32_t position = ring.position[member];
    const uint32_t block = (position + 2 * members_ - 1 - (first_step + step)) % members_;
    StreamMessage message;
    message.number = ring.base + k * members_ + position;
    message.bytes = part(ring_block(turn, block, channel), turn.pieces, piece).size();
    message.continues = piece > place.begin;
    if (step > 0) message.wait_for(channel, k - length);
    return message;
}

void Schedule::make_chain(uint16_t channel) {
    Ring& ring = rings_.emplace_back();
    ring.order = ring_order(*placement_, channel);
    std::rotate(ring.order.begin(), std::find(ring.order.begin(), ring.order.end(), options_.root),
                ring.order.end());
    ring.position.resize(members_);
    for (uint32_t p = 0; p < members_; ++p) ring.position[ring.order[p]] = p;
    ring.base = numbers_;
    const Range data = channel_data(channel);
    ring.messages = parts_of(data.size(), options_.chunking.chunk);
    note_smallest(data.size(), ring.messages);
    numbers_ += ring.messages * (members_ - 1);
    messages_ += ring.messages * (members_ - 1);
}

StreamMessage Schedule::chain_message(uint32_t member, uint16_t channel, uint64_t k) const {
    const Ring& ring = rings_[channel];
    const uint32_t position = ring.position[member];
    StreamMessage message;
    message.number = ring.base + k * (members_ - 1) + position;
    message.bytes = part(channel_data(channel), ring.messages, k).size();
    if (position > 0) message.wait_for(channel, k);
    return message;
}

// Trees, as in tree.cc: the members of a server are a chain whose first is a node of both trees.
// The streams and inlets of a member in a tree have the same names: up (for an inlet: from above),
// a child, the chain. A message up waits for all messages from below, a message down for the one
// from above.

void Schedule::make_tree(Tree& tree, std::vector<uint32_t> parents) {
    const auto nodes = static_cast<uint32_t>(parents.size());
    tree.parents = std::move(parents);
    std::vector<uint32_t> depth(nodes);
    for (uint32_t i = 0; i < nodes; ++i)
        for (uint32_t node = i; tree.parents[node] != node; node = tree.parents[node]) ++depth[i];
    std::vector<uint32_t> down(nodes);
    std::iota(down.begin(), down.end(), 0);
    std::stable_sort(down.begin(), down.end(),
                     [&](uint32_t a, uint32_t b) { return depth[a] < depth[b]; });
    tree.depth_order.resize(nodes);
    tree.children.resize(nodes);
    tree.child_count.resize(nodes);
    tree.index_at_parent.resize(nodes);
    for (uint32_t q = 0; q < nodes; ++q) {
        const uint32_t node = down[q];
        const uint32_t parent = tree.parents[node];
        tree.depth_order[node] = q;
        if (parent == node) continue;
        tree.index_at_parent[node] = tree.child_count[parent]++;
        TULLE_CHECK(tree.index_at_parent[node] < Tree::kMostChildren);
        tree.children[parent][tree.index_at_parent[node]] = node;
    }
}

void Schedule::make_trees() {
    const uint32_t servers = placement_->server_count();
    make_tree(trees_[0], binary_tree(servers));
    make_tree(trees_[1], complementary_tree(servers));
    const uint64_t edges = 2 * (uint64_t{members_} - 1);
    for (uint16_t channel = 0; channel < options_.channels; ++channel) {
        tree_base_.push_back(numbers_);
        const uint64_t pieces = tree_pieces(channel);
        note_smallest(part(channel_data(channel), 2, 0).size(), pieces);
        numbers_ += pieces * 2 * edges;
        messages_ += pieces * 2 * edges;
    }
    streams_ = inlets_ = options_.channels * 2 * kSlots;
}

uint64_t Schedule::tree_pieces(uint16_t channel) const {
    return parts_of(part(channel_data(channel), 2, 1).size(), options_.chunking.chunk);
}

Schedule::TreePlace Schedule::tree_place(uint32_t member, uint16_t channel) const {
    TreePlace place;
    place.server = placement_->server_of(member);
    place.length = placement_->count_of(place.server);
    const uint32_t local = member - placement_->first_of(place.server);
    place.chain = (local + place.length - channel % place.length) % place.length;
    return place;
}

uint32_t Schedule::in_chain(uint32_t server, uint16_t channel, uint32_t index) const {
    const uint32_t count = placement_->count_of(server);
    return placement_->first_of(server) + (channel % count + index) % count;
}

bool Schedule::has_slot(const TreePlace& place, const Tree& tree, uint32_t slot) const {
    switch (slot) {
        case kUp: return place.chain > 0 || tree.parents[place.server] != place.server;
        case kNextInChain: return place.chain + 1 < place.length;
        default: return place.chain == 0 && slot - kFirstChild < tree.child_count[place.server];
    }
}

uint32_t Schedule::tree_peer(const TreePlace& place, uint16_t channel, const Tree& tree,
                             uint32_t slot) const {
    if (slot == kNextInChain) return in_chain(place.server, channel, place.chain + 1);
    if (slot != kUp) return in_chain(tree.children[place.server][slot - kFirstChild], channel, 0);
    if (place.chain > 0) return in_chain(place.server, channel, place.chain - 1);
    return in_chain(tree.parents[place.server], channel, 0);
}

Stream Schedule::tree_stream(uint32_t member, uint32_t index) const {
    const uint32_t slot = index % kSlots;
    const uint32_t which = index / kSlots;  // channel and tree
    const auto channel = static_cast<uint16_t>(which / 2);
    const Tree& tree = trees_[which % 2];
    const TreePlace place = tree_place(member, channel);
    Stream stream;
    if (!has_slot(place, tree, slot)) return stream;
    stream.peer = tree_peer(place, channel, tree, slot);
    stream.tier = placement_->tier(member, stream.peer);
    stream.channel = static_cast<uint16_t>(which);
    uint32_t inlet = kUp;  // from above
    if (slot == kUp)
        inlet = place.chain > 0 ? uint32_t{kNextInChain}
                                : kFirstChild + tree.index_at_parent[place.server];
    stream.inlet = which * kSlots + inlet;
    stream.messages = tree_pieces(channel);
    stream.window = window_between(member, stream.peer);
    return stream;
}

// A message from above is sent down, and a message from below is sent up.
Schedule::Source Schedule::tree_source(uint32_t member, uint32_t inlet) const {
    const uint32_t which = inlet / kSlots;
    const auto channel = static_cast<uint16_t>(which / 2);
    const Tree& tree = trees_[which % 2];
    const TreePlace place = tree_place(member, channel);
    const uint32_t slot = inlet % kSlots;
    uint32_t there = kUp;
    if (slot == kUp)
        there = place.chain > 0 ? uint32_t{kNextInChain}
                                : kFirstChild + tree.index_at_parent[place.server];
    return {tree_peer(place, channel, tree, slot), which * kSlots + there};
}

// Its position in the list of a piece: up the chains, up the tree, down the tree, down the chains.
uint64_t Schedule::tree_edge(const TreePlace& place, const Tree& tree, uint32_t slot) const {
    const uint64_t servers = placement_->server_count();
    const uint64_t before = placement_->first_of(place.server) - place.server;  // in chains
    if (slot == kUp && place.chain > 0) return before + place.length - 1 - place.chain;
    if (slot == kUp) return members_ - servers + (servers - 1 - tree.depth_order[place.server]);
    if (slot == kNextInChain) return members_ - 1 + servers - 1 + before + place.chain;
    const uint32_t child = tree.children[place.server][slot - kFirstChild];
    return members_ - 1 + tree.depth_order[child] - 1;
}

void Schedule::wait_for_ups(StreamMessage& message, const TreePlace& place, uint32_t which,
                            uint64_t k) const {
    for (uint32_t slot = kFirstChild; slot < kSlots; ++slot)
        if (has_slot(place, trees_[which % 2], slot)) message.wait_for(which * kSlots + slot, k);
}

StreamMessage Schedule::tree_message(uint32_t member, uint32_t index, uint64_t k) const {
    const uint32_t slot = index % kSlots;
    const uint32_t which = index / kSlots;
    const auto channel = static_cast<uint16_t>(which / 2);
    const Tree& tree = trees_[which % 2];
    const TreePlace place = tree_place(member, channel);
    const uint64_t edges = 2 * (uint64_t{members_} - 1);
    StreamMessage message;
    message.number =
        tree_base_[channel] + (2 * k + which % 2) * edges + tree_edge(place, tree, slot);
    const Range half = part(channel_data(channel), 2, which % 2);
    message.bytes = part(half, tree_pieces(channel), k).size();
    if (slot == kUp || !has_slot(place, tree, kUp))
        wait_for_ups(message, place, which, k);
    else
        message.wait_for(which * kSlots + kUp, k);
    return message;
}

// All-to-all patterns, as in direct.cc: each member begins with the member before it and continues
// downwards. Peers outside its server take turns.

void Schedule::make_direct() {
    const uint64_t n = members_;
    streams_ = (members_ - 1) * options_.channels;
    const uint64_t low = options_.bytes / n;
    const uint64_t high = low + (options_.bytes % n != 0 ? 1 : 0);
    const auto pieces = [&](uint64_t bytes) {
        return parts_of(part({0, bytes}, options_.channels, 0).size(), options_.chunking.chunk);
    };
    most_pieces_ = pieces(high);
    smallest_bytes_ = low / options_.channels / pieces(low);
    numbers_ = (n - 1) * n * most_pieces_ * options_.channels;
    messages_ = numbers_;
    if (pieces(low) == most_pieces_) return;
    messages_ = 0;
    for (uint32_t member = 0; member < members_; ++member) messages_ += arrivals(member);
}

Range Schedule::direct_range(uint32_t from, uint32_t to) const {
    switch (options_.collective) {
        case Collective::reduce_scatter: return part({0, options_.bytes}, members_, to);
        case Collective::all_gather: return part({0, options_.bytes}, members_, from);
        default: return part({from * options_.bytes, (from + 1) * options_.bytes}, members_, to);
    }
}

uint64_t Schedule::direct_pieces(uint32_t from, uint32_t to) const {
    const Range first = part(direct_range(from, to), options_.channels, 0);
    return parts_of(first.size(), options_.chunking.chunk);
}

Schedule::DirectPeer Schedule::direct_peer(uint32_t member, uint32_t index) const {
    const uint32_t server = placement_->server_of(member);
    const bool has_inside = placement_->has_scale_up();
    const uint32_t inside = has_inside ? placement_->count_of(server) - 1 : 0;
    const uint32_t before = has_inside ? member - placement_->first_of(server) : 0;
    DirectPeer peer;
    if (index >= inside) {
        peer.turn = index - inside;
        peer.position = before + peer.turn;
    } else {
        peer.position = index < before ? index : index + (members_ - 1 - inside);
    }
    peer.member = (member + members_ - 1 - peer.position) % members_;
    return peer;
}

uint32_t Schedule::streams_inside(uint32_t member) const {
    if (kind_ == Kind::rails) return (places_ - 1) * options_.channels;
    const bool has_inside = placement_->has_scale_up();
    const uint32_t inside =
        has_inside ? placement_->count_of(placement_->server_of(member)) - 1 : 0;
    return inside * options_.channels;
}

std::pair<uint32_t, uint32_t> Schedule::opened_by(uint32_t member, uint32_t turn) const {
    const uint64_t first =
        streams_inside(member) + (uint64_t{turn} + options_.peers) * options_.channels;
    if (options_.peers == 0 || first >= streams_) return {0, 0};
    return {static_cast<uint32_t>(first), static_cast<uint32_t>(first) + options_.channels};
}

uint32_t Schedule::ends_turn(uint32_t member, uint32_t turn) const {
    return streams_inside(member) + (turn + 1) * options_.channels - 1;
}

Stream Schedule::direct_stream(uint32_t member, uint32_t index) const {
    const DirectPeer peer = direct_peer(member, index / options_.channels);
    Stream stream;
    stream.peer = peer.member;
    stream.tier = placement_->tier(member, peer.member);
    stream.channel = static_cast<uint16_t>(index % options_.channels);
    stream.messages = direct_pieces(member, peer.member);
    stream.window = window_between(member, peer.member);
    if (peer.turn == Stream::kNoTurn) return stream;
    if (options_.peers != 0 && peer.turn >= options_.peers)
        stream.gate = peer.turn - options_.peers;
    if (stream.channel + 1 == options_.channels) stream.turn = peer.turn;
    return stream;
}

StreamMessage Schedule::direct_message(uint32_t member, uint32_t index, uint64_t k) const {
    const DirectPeer peer = direct_peer(member, index / options_.channels);
    const auto channel = static_cast<uint16_t>(index % options_.channels);
    StreamMessage message;
    message.number =
        ((uint64_t{peer.position} * members_ + member) * most_pieces_ + k) * options_.channels +
        channel;
    const Range data = part(direct_range(member, peer.member), options_.channels, channel);
    message.bytes = part(data, direct_pieces(member, peer.member), k).size();
    return message;
}

}  // namespace tulle::workload
