#include "workload/schedules/rings.h"

#include <algorithm>

namespace tulle::workload {

Rings::Rings(const CollectiveOptions& options, const Placement& placement)
    : Shape(options, placement) {
    if (members_ < 2) return;
    for (uint16_t channel = 0; channel < options_.channels; ++channel) add_ring(channel);
    counts_.streams = counts_.inlets = options_.channels;
}

uint64_t Rings::turns_of(const CollectiveOptions& options, uint64_t members) {
    const uint64_t slices = options.chunking.at_once();
    if (options.collective != Collective::all_reduce || slices == 0) return 1;
    return options.bytes / options.chunking.chunk / slices / std::max<uint64_t>(1, members);
}

uint32_t Rings::steps() const {
    return (options_.collective == Collective::all_reduce ? 2 : 1) * (members_ - 1);
}

void Rings::add_ring(uint16_t channel) {
    Ring& ring = rings_.emplace_back();
    ring.order = ring_order(placement_, channel);
    ring.position.resize(members_);
    for (uint32_t p = 0; p < members_; ++p) ring.position[ring.order[p]] = p;
    ring.base = counts_.numbers;
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
    counts_.numbers += ring.messages * members_;
    counts_.messages += ring.messages * members_;
}

void Rings::add_turn(Ring& ring, uint16_t channel, Range data) {
    Turn turn;
    turn.first = ring.messages;
    turn.data = data;
    uint64_t smallest = UINT64_MAX;
    uint64_t largest = 0;
    // Blocks of an all-reduce differ by at most one byte, and the last one is not smaller.
    const bool is_even = options_.collective == Collective::all_reduce;
    for (uint32_t p = 0; p < (is_even ? 1 : members_); ++p) {
        const uint64_t bytes = block(turn, p, channel).size();
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
    ring.messages += turn.pieces * steps();
    ring.turns.push_back(turn);
}

Range Rings::block(const Turn& turn, uint32_t position, uint16_t channel) const {
    if (options_.collective == Collective::all_reduce)
        return part(turn.data, members_, members_ - 1 - position);
    const uint32_t member = rings_[channel].order[position];
    return part(part({0, options_.bytes}, members_, member), options_.channels, channel);
}

Stream Rings::stream(uint32_t member, uint32_t index) const {
    const auto channel = static_cast<uint16_t>(index);
    const Ring& ring = rings_[channel];
    const uint32_t position = ring.position[member];
    Stream stream;
    stream.peer = ring.order[(position + 1) % members_];
    stream.tier = placement_.tier(member, stream.peer);
    stream.channel = channel;
    stream.inlet = channel;
    stream.messages = ring.messages;
    stream.window = window_between(member, stream.peer);
    return stream;
}

Rings::RingPlace Rings::place_of(uint16_t channel, uint64_t k) const {
    const Ring& ring = rings_[channel];
    const auto after = std::upper_bound(ring.turns.begin(), ring.turns.end(), k,
                                        [](uint64_t at, const Turn& t) { return at < t.first; });
    const Turn& turn = *(after - 1);
    const uint64_t its_steps = steps();
    const uint64_t slices = options_.chunking.at_once();
    const uint64_t batch = slices == 0 ? turn.pieces : slices;
    const uint64_t begin = (k - turn.first) / (batch * its_steps) * batch;
    return {turn, turn.first + begin * its_steps, begin, std::min(batch, turn.pieces - begin)};
}

Repetition Rings::repetition(uint32_t index, uint64_t k) const {
    const RingPlace place = place_of(static_cast<uint16_t>(index), k);
    return {place.length, place.first + place.length, place.first + place.length * steps()};
}

StreamMessage Rings::message(uint32_t member, uint32_t index, uint64_t k) const {
    const auto channel = static_cast<uint16_t>(index);
    const Ring& ring = rings_[channel];
    const RingPlace place = place_of(channel, k);
    const Turn& turn = place.turn;
    const uint64_t in_batch = k - place.first;
    const uint64_t length = place.length;
    const auto step = static_cast<uint32_t>(in_batch / length);
    const uint64_t piece = place.begin + in_batch % length;
    const uint32_t first_step = options_.collective == Collective::all_gather ? members_ - 1 : 0;
    const uint32_t position = ring.position[member];
    const uint32_t whose = (position + 2 * members_ - 1 - (first_step + step)) % members_;
    StreamMessage message;
    message.number = ring.base + k * members_ + position;
    message.bytes = part(block(turn, whose, channel), turn.pieces, piece).size();
    message.continues = piece > place.begin;
    if (step > 0) message.wait_for(channel, k - length);
    return message;
}

StreamSource Rings::source(uint32_t member, uint32_t inlet) const {
    const Ring& ring = rings_[inlet];
    return {ring.order[(ring.position[member] + members_ - 1) % members_], inlet};
}

// When reducing, a position sends each block but its own. When gathering, it sends each block but
// that of the next position.
uint64_t Rings::stream_bytes(uint32_t member, uint32_t index) const {
    const auto channel = static_cast<uint16_t>(index);
    const uint32_t position = rings_[channel].position[member];
    uint64_t bytes = 0;
    for (const Turn& turn : rings_[channel].turns) {
        if (options_.collective != Collective::all_gather)
            bytes += turn.bytes - block(turn, position, channel).size();
        if (options_.collective != Collective::reduce_scatter)
            bytes += turn.bytes - block(turn, (position + 1) % members_, channel).size();
    }
    return bytes;
}

uint64_t Rings::most_under_way() const {
    uint64_t most = 1;
    for (const Ring& ring : rings_) most = std::max(most, ring.messages);
    return most;
}

uint64_t Rings::arrivals(uint32_t) const {
    uint64_t sum = 0;
    for (const Ring& ring : rings_) sum += ring.messages;
    return sum;
}

}  // namespace tulle::workload
