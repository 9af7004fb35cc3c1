#include "workload/schedules/halving.h"

#include <algorithm>
#include <bit>

namespace tulle::workload {
namespace {

Range common(Range a, Range b) {
    const uint64_t begin = std::max(a.begin, b.begin);
    return {begin, std::max(begin, std::min(a.end, b.end))};
}

}  // namespace

Halving::Halving(const CollectiveOptions& options, const Placement& placement)
    : Shape(options, placement) {
    if (members_ < 2) return;
    folded_ = members_ - std::bit_floor(members_);
    steps_ = static_cast<uint32_t>(std::bit_width(members_)) - 1;
    for (uint16_t channel = 0; channel < options_.channels; ++channel) add_channel(channel);
    counts_.streams = counts_.inlets = options_.channels * slots();
}

void Halving::add_channel(uint16_t number) {
    Channel& channel = channels_.emplace_back();
    channel.data = channel_data(number);
    channel.base = counts_.numbers;
    uint64_t next = channel.base + folded_ * pieces(channel.data);
    counts_.messages += 2 * folded_ * pieces(channel.data);
    channel.halving.resize(steps_);
    channel.doubling.resize(steps_);
    const uint64_t cores = uint64_t{1} << steps_;
    for (uint32_t step = 0; step < steps_; ++step) {
        channel.halving[step] = next;
        next += cores * most_pieces(channel, step + 1);
        counts_.messages += 2 * pieces_of_all(channel, step + 1);
    }
    for (uint32_t step = steps_; step-- > 0;) {
        channel.doubling[step] = next;
        next += cores * most_pieces(channel, step + 1);
    }
    channel.unfolding = next;
    counts_.numbers = next + folded_ * pieces(channel.data);
    for (uint32_t step = 0; step <= steps_; ++step)
        note_smallest(channel.data.size() >> step, most_pieces(channel, step));
}

// The most pieces that the range of a core member is cut into after these steps.
uint64_t Halving::most_pieces(const Channel& channel, uint32_t steps) const {
    const uint64_t size = channel.data.size();
    const uint64_t largest = (size >> steps) + ((size & ((uint64_t{1} << steps) - 1)) != 0 ? 1 : 0);
    return parts_of(largest, options_.chunking.chunk);
}

// The number of pieces of the ranges of all core members after these steps.
uint64_t Halving::pieces_of_all(const Channel& channel, uint32_t steps) const {
    const uint64_t sharing = uint64_t{1} << (steps_ - steps);  // members with one range
    const uint64_t ranges = uint64_t{1} << steps;
    const uint64_t most = most_pieces(channel, steps);
    if (parts_of(channel.data.size() >> steps, options_.chunking.chunk) == most)
        return sharing * ranges * most;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < ranges; ++i) sum += pieces(held(channel, i, steps));
    return sharing * sum;
}

Range Halving::held(const Channel& channel, uint32_t core, uint32_t steps) const {
    Range range = channel.data;
    for (uint32_t step = 0; step < steps; ++step) range = part(range, 2, core >> step & 1);
    return range;
}

Halving::Lane Halving::lane_of(uint32_t member, uint32_t index) const {
    Lane lane{channels_[index / slots()], index % slots()};
    lane.is_folded = member < 2 * folded_ && member % 2 == 0;
    lane.core = member < 2 * folded_ ? member / 2 : member - folded_;
    return lane;
}

uint32_t Halving::peer_of(uint32_t member, const Lane& lane) const {
    if (lane.is_folded) return member + 1;
    return lane.slot == steps_ ? member - 1 : core_at(lane.core ^ 1u << lane.slot);
}

Stream Halving::stream(uint32_t member, uint32_t index) const {
    const Lane lane = lane_of(member, index);
    Stream stream;
    const bool is_fold = lane.slot == steps_;
    if (lane.is_folded ? !is_fold : is_fold && lane.core >= folded_) return stream;
    stream.peer = peer_of(member, lane);
    stream.tier = placement_.tier(member, stream.peer);
    stream.channel = static_cast<uint16_t>(index / slots());
    stream.inlet = index;
    stream.window = window_between(member, stream.peer);
    stream.messages = is_fold
                          ? pieces(lane.channel.data)
                          : pieces(held(lane.channel, lane.core ^ 1u << lane.slot, lane.slot + 1)) +
                                pieces(held(lane.channel, lane.core, lane.slot + 1));
    return stream;
}

Halving::Load Halving::load_of(const Lane& lane, uint64_t k) const {
    Load load{lane.is_folded, k, lane.channel.data};
    if (lane.slot < steps_) {
        const Range given = held(lane.channel, lane.core ^ 1u << lane.slot, lane.slot + 1);
        load.sums = k < pieces(given);
        load.piece = load.sums ? k : k - pieces(given);
        load.range = load.sums ? given : held(lane.channel, lane.core, lane.slot + 1);
    }
    load.range = part(load.range, pieces(load.range), load.piece);
    return load;
}

StreamMessage Halving::message(uint32_t member, uint32_t index, uint64_t k) const {
    const Lane lane = lane_of(member, index);
    const Load load = load_of(lane, k);
    const Channel& channel = lane.channel;
    StreamMessage message;
    message.bytes = load.range.size();
    if (lane.slot == steps_)
        message.number = (load.sums ? channel.base : channel.unfolding) +
                         lane.core * pieces(channel.data) + load.piece;
    else
        message.number = (load.sums ? channel.halving : channel.doubling)[lane.slot] +
                         lane.core * most_pieces(channel, lane.slot + 1) + load.piece;
    list_needs(member, index, k, 0, message);
    return message;
}

// Waits for the pieces of `whole` that share bytes with the range; the inlet has `before` other
// messages before them.
void Halving::wait_for_pieces(NeedList& list, uint32_t inlet, Range whole, Range range,
                              uint64_t before) const {
    const Range shared = common(whole, range);
    if (shared.is_empty()) return;
    const uint64_t count = pieces(whole);
    list.wait_for(inlet, before + part_with(whole.size(), count, shared.begin - whole.begin),
                  before + part_with(whole.size(), count, shared.end - 1 - whole.begin) + 1);
}

// A sum has what the member has received before its step. What is gathered has the member's own
// block, with all sums, and what the partners of later steps have gathered.
void Halving::list_needs(uint32_t member, uint32_t index, uint64_t k, uint32_t first,
                         StreamMessage& message) const {
    const Lane lane = lane_of(member, index);
    NeedList list(message, first);
    if (lane.is_folded) return;
    const Load load = load_of(lane, k);
    const Channel& channel = lane.channel;
    const uint32_t inlet = index - lane.slot;
    const uint32_t steps = load.sums ? lane.slot : steps_;
    const Range summed =
        load.sums ? load.range : common(load.range, held(channel, lane.core, steps_));
    if (lane.core < folded_ && !summed.is_empty())
        wait_for_pieces(list, inlet + steps_, channel.data, summed, 0);
    Range range = channel.data;
    for (uint32_t step = 0; step < steps; ++step) {
        const Range other = part(range, 2, ~lane.core >> step & 1);
        range = part(range, 2, lane.core >> step & 1);
        wait_for_pieces(list, inlet + step, range, summed, 0);
        const bool is_gathered = !load.sums && (lane.slot == steps_ || step > lane.slot);
        if (is_gathered) wait_for_pieces(list, inlet + step, other, load.range, pieces(range));
    }
}

StreamSource Halving::source(uint32_t member, uint32_t inlet) const {
    return {peer_of(member, lane_of(member, inlet)), inlet};
}

uint64_t Halving::stream_bytes(uint32_t member, uint32_t index) const {
    const Lane lane = lane_of(member, index);
    if (lane.slot == steps_) return lane.channel.data.size();
    return held(lane.channel, lane.core, lane.slot).size();
}

uint64_t Halving::most_under_way() const {
    uint64_t most = 1;
    for (const Channel& channel : channels_) most = std::max(most, 2 * pieces(channel.data));
    return most;
}

uint64_t Halving::arrivals(uint32_t member) const {
    uint64_t sum = 0;
    for (uint32_t inlet = 0; inlet < counts_.inlets; ++inlet) {
        const Lane lane = lane_of(member, inlet);
        const bool is_fold = lane.slot == steps_;
        if (lane.is_folded ? !is_fold : is_fold && lane.core >= folded_) continue;
        sum += stream(peer_of(member, lane), inlet).messages;
    }
    return sum;
}

}  // namespace tulle::workload
