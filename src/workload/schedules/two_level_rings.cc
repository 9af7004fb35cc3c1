#include "workload/schedules/two_level_rings.h"

#include <algorithm>

namespace tulle::workload {
namespace {

Range inside(Range whole, Range range) {
    return {range.begin - whole.begin, range.end - whole.begin};
}

uint64_t rounded_up(base::uint128_t a, uint64_t b) {
    return static_cast<uint64_t>((a + b - 1) / b);
}

}  // namespace

TwoLevelRings::TwoLevelRings(const CollectiveOptions& options, const Placement& placement)
    : Shape(options, placement),
      servers_(placement.server_count()),
      places_(placement.count_of(0)) {
    for (uint16_t channel = 0; channel < options_.channels; ++channel) add_channel(channel);
    counts_.streams = counts_.inlets = options_.channels * slots();
    counts_.messages = counts_.numbers;
}

uint64_t TwoLevelRings::turns_of(const CollectiveOptions& options, const Placement& placement) {
    const Chunking& chunking = options.chunking;
    if (chunking.window == 0) return 1;
    const uint64_t data = part({0, options.bytes}, options.channels, options.channels - 1).size();
    return parts_of(rounded_up(data, placement.count_of(0)),
                    chunking.chunk * chunking.window * placement.server_count());
}

void TwoLevelRings::add_channel(uint16_t number) {
    Channel& channel = channels_.emplace_back();
    channel.data = channel_data(number);
    const Chunking& chunking = options_.chunking;
    const uint64_t turns = chunking.window == 0
                               ? 1
                               : parts_of(rounded_up(channel.data.size(), places_),
                                          chunking.chunk * chunking.window * servers_);
    channel.turns.reserve(turns);
    for (uint64_t turn = 0; turn < turns; ++turn) channel.turns.emplace_back();
    for (uint64_t turn = 0; turn < turns; ++turn) add_turn(channel, turn);
}

Range TwoLevelRings::share(const Channel& channel, const Turn& turn, uint32_t place) const {
    const auto number = static_cast<uint64_t>(&turn - channel.turns.data());
    return part(part(channel.data, places_, place), channel.turns.size(), number);
}

// There is no closed form if the shares of some places are cut into more pieces than others,
// because they are a byte longer.
void TwoLevelRings::add_turn(Channel& channel, uint64_t number) {
    Turn& turn = channel.turns[number];
    const Chunking& chunking = options_.chunking;
    const uint64_t slices = chunking.at_once();
    const auto rounds_of = [&](Range share) {
        return slices == 0 ? 1 : parts_of(share.size(), chunking.chunk * slices * servers_);
    };
    const auto pieces_of = [&](Range round) {
        return parts_of(rounded_up(round.size(), servers_), chunking.chunk);
    };
    const Range last = share(channel, turn, places_ - 1);
    turn.inside = channel.inside;
    turn.rail = channel.rail;
    turn.base = counts_.numbers;
    turn.pieces = parts_of(last.size(), chunking.chunk);
    turn.rounds = rounds_of(last);
    turn.first_round = channel.rounds.size();
    for (uint32_t i = 0; i < turn.rounds; ++i) {
        const uint64_t pieces = pieces_of(part(last, turn.rounds, i));
        channel.rounds.push_back({channel.rail, pieces, static_cast<uint32_t>(number), i});
        channel.rail += pieces * ring_steps();
    }
    channel.inside += turn.pieces;
    for (uint32_t place = 0; place < places_; ++place) {
        const Range its = share(channel, turn, place);
        const bool is_alike =
            rounded_up(its.size(), turn.pieces) <= chunking.chunk && rounds_of(its) == turn.rounds;
        note_smallest(is_alike ? its.size() : 0, turn.pieces);
        for (uint32_t i = 0; i < turn.rounds && is_alike; ++i) {
            const uint64_t pieces = channel.rounds[turn.first_round + i].pieces;
            const Range round = part(its, turn.rounds, i);
            note_round(round, pieces_of(round) == pieces ? pieces : UINT64_MAX, its, turn);
        }
    }
    const uint64_t of_servers = turn.pieces * servers_ * (places_ - 1) * places_;
    turn.results = turn.base + of_servers + (channel.rail - turn.rail) * servers_ * places_;
    counts_.numbers = turn.results + of_servers;
}

void TwoLevelRings::note_round(Range round, uint64_t pieces, Range share, const Turn& turn) {
    note_smallest(round.size() / servers_, pieces);
    const uint64_t least_of_ring = round.size() / servers_ / pieces;
    const uint64_t least = share.size() / turn.pieces;
    if (least == 0 || least_of_ring == 0) return;
    const uint64_t arrivals = (least + 1) / least_of_ring + 2 + turn.rounds;
    const uint64_t parts = (least_of_ring + 2) / least + 2;
    most_needs_ = std::max(most_needs_, arrivals + parts * (places_ - 1));
}

TwoLevelRings::Lane TwoLevelRings::lane_of(uint32_t member, uint32_t index) const {
    return {channels_[index / slots()], member / places_, member % places_, index % slots()};
}

TwoLevelRings::Step TwoLevelRings::step_at(const Channel& channel, uint64_t k) const {
    const auto after =
        std::upper_bound(channel.turns.begin(), channel.turns.end(), k,
                         [](uint64_t at, const Turn& turn) { return at < turn.inside; });
    const Turn& turn = *(after - 1);
    return {turn, k - turn.inside};
}

const TwoLevelRings::Round& TwoLevelRings::round_at(const Channel& channel, uint64_t k) const {
    const auto after =
        std::upper_bound(channel.rounds.begin(), channel.rounds.end(), k,
                         [](uint64_t at, const Round& round) { return at < round.first; });
    return *(after - 1);
}

// A server begins with the piece that its position in the ring sends first.
uint64_t TwoLevelRings::first_piece(const Lane& lane, const Turn& turn) const {
    return (servers_ - lane.server) % servers_ * turn.pieces / servers_;
}

// The piece that comes at this place of the order in which results arrive, which is that of the
// first place's share. Results come round by round. Those of a round begin with the first that
// begins at the server's own block, or after it.
uint64_t TwoLevelRings::result_at(const Lane& lane, const Step& step) const {
    const Turn& turn = step.turn;
    const uint64_t size = share(lane.channel, turn, 0).size();
    const auto end_of = [&](uint64_t piece) { return part({0, size}, turn.pieces, piece).end; };
    const auto first_of = [&](uint64_t round) {  // the first piece that ends in the round
        if (round == turn.rounds) return turn.pieces;
        const uint64_t begin = part({0, size}, turn.rounds, round).begin;
        return rounded_up(base::uint128_t{begin + 1} * turn.pieces, size) - 1;
    };
    const uint64_t number = part_with(size, turn.rounds, end_of(step.place) - 1);
    const Range round = part({0, size}, turn.rounds, number);
    const uint64_t first = first_of(number);
    const uint64_t end = first_of(number + 1);
    const uint64_t own = block(round, lane.server).begin;
    uint64_t begin = first;
    if (own > round.begin)
        begin = std::clamp(rounded_up(base::uint128_t{own} * turn.pieces, size), first, end);
    return first + (begin - first + step.place - first) % (end - first);
}

Stream TwoLevelRings::stream(uint32_t member, uint32_t index) const {
    const Lane lane = lane_of(member, index);
    Stream stream;
    const bool is_rail = lane.slot == rail_slot();
    const uint32_t first = member - lane.place;
    stream.peer = is_rail ? (member + places_) % members_
                          : first + (lane.place + places_ - distance(lane.slot)) % places_;
    stream.tier = placement_.tier(member, stream.peer);
    stream.channel = static_cast<uint16_t>(index / slots());
    if (lane.slot > rail_slot())
        stream.channel = static_cast<uint16_t>(stream.channel + options_.channels);
    stream.inlet = index;
    stream.messages = is_rail ? lane.channel.rail : lane.channel.inside;
    stream.window = window_between(member, stream.peer);
    return stream;
}

StreamSource TwoLevelRings::source(uint32_t member, uint32_t inlet) const {
    const Lane lane = lane_of(member, inlet);
    if (lane.slot == rail_slot()) return {(member + members_ - places_) % members_, inlet};
    return {member - lane.place + (lane.place + distance(lane.slot)) % places_, inlet};
}

// Bytes of a message of the ring, counted from the beginning of its share.
Range TwoLevelRings::piece_of_ring(const Lane& lane, const Round& round, uint64_t k) const {
    const Turn& turn = lane.channel.turns[round.turn];
    const Range all = share(lane.channel, turn, lane.place);
    const auto step = static_cast<uint32_t>((k - round.first) / round.pieces);
    const uint32_t number = (lane.server + 2 * servers_ - 1 - step) % servers_;
    const Range its = block(part(all, turn.rounds, round.index), number);
    return inside(all, part(its, round.pieces, (k - round.first) % round.pieces));
}

StreamMessage TwoLevelRings::message(uint32_t member, uint32_t index, uint64_t k) const {
    const Lane lane = lane_of(member, index);
    StreamMessage message;
    if (lane.slot == rail_slot()) {
        const Round& round = round_at(lane.channel, k);
        const Turn& turn = lane.channel.turns[round.turn];
        const uint64_t end = round.turn + 1 < lane.channel.turns.size()
                                 ? lane.channel.turns[round.turn + 1].rail
                                 : lane.channel.rail;
        const uint64_t of_servers = turn.pieces * servers_ * (places_ - 1) * places_;
        message.number = turn.base + of_servers + lane.place * (end - turn.rail) * servers_ +
                         (k - turn.rail) * servers_ + lane.server;
        message.bytes = piece_of_ring(lane, round, k).size();
        message.continues = (k - round.first) % round.pieces != 0;
    } else {
        const Step step = step_at(lane.channel, k);
        const Turn& turn = step.turn;
        const uint32_t away = distance(lane.slot);
        const bool is_result = lane.slot > rail_slot();
        const uint32_t owner = is_result ? lane.place : (lane.place + places_ - away) % places_;
        const uint64_t piece = is_result ? result_at(lane, step)
                                         : (first_piece(lane, turn) + step.place) % turn.pieces;
        const uint64_t place = is_result ? lane.server * turn.pieces + step.place
                                         : step.place * servers_ + lane.server;
        message.number = (is_result ? turn.results : turn.base) +
                         (place * (places_ - 1) + away - 1) * places_ + owner;
        message.bytes = part(share(lane.channel, turn, owner), turn.pieces, piece).size();
    }
    list_needs(member, index, k, 0, message);
    return message;
}

void TwoLevelRings::list_needs(uint32_t member, uint32_t index, uint64_t k, uint32_t first,
                               StreamMessage& message) const {
    const Lane lane = lane_of(member, index);
    NeedList list(message, first);
    if (lane.slot == rail_slot()) list_for_ring(lane, k, list);
    if (lane.slot > rail_slot()) list_for_result(lane, k, list);
}

// Waits for pieces [begin, end) of the other members of the server.
void TwoLevelRings::wait_for_pieces(const Lane& lane, const Turn& turn, uint64_t begin,
                                    uint64_t end, NeedList& list) const {
    const auto channel = static_cast<uint32_t>(&lane.channel - channels_.data());
    const uint64_t sooner = turn.pieces - first_piece(lane, turn);
    for (uint32_t slot = 0; slot < rail_slot(); ++slot)
        list.wait_for_each(channel * slots() + slot, end - begin, [&](uint64_t i) {
            return turn.inside + (begin + i + sooner) % turn.pieces;
        });
}

void TwoLevelRings::list_for_ring(const Lane& lane, uint64_t k, NeedList& list) const {
    const Round& round = round_at(lane.channel, k);
    const Turn& turn = lane.channel.turns[round.turn];
    const auto channel = static_cast<uint32_t>(&lane.channel - channels_.data());
    const uint64_t step = (k - round.first) / round.pieces;
    if (step > 0)
        list.wait_for(channel * slots() + rail_slot(), k - round.pieces, k - round.pieces + 1);
    if (step >= servers_) return;
    const Range range = piece_of_ring(lane, round, k);
    const uint64_t size = share(lane.channel, turn, lane.place).size();
    wait_for_pieces(lane, turn, part_with(size, turn.pieces, range.begin),
                    part_with(size, turn.pieces, range.end - 1) + 1, list);
}

// Blocks are numbered against the order of memory: the one that a server reduces last is its own.
// The others arrive afterwards.
void TwoLevelRings::list_for_result(const Lane& lane, uint64_t k, NeedList& list) const {
    const Step step = step_at(lane.channel, k);
    const Turn& turn = step.turn;
    const auto channel = static_cast<uint32_t>(&lane.channel - channels_.data());
    const uint64_t size = share(lane.channel, turn, lane.place).size();
    const uint64_t piece = result_at(lane, step);
    const Range range = part({0, size}, turn.pieces, piece);
    const uint64_t first_round = part_with(size, turn.rounds, range.begin);
    const uint64_t last_round = part_with(size, turn.rounds, range.end - 1);
    bool has_own = false;
    for (uint64_t i = first_round; i <= last_round; ++i) {
        const Round& round = lane.channel.rounds[turn.first_round + i];
        const Range all = part({0, size}, turn.rounds, i);
        // The piece with a byte, counted in the order of memory.
        const auto piece_with = [&](uint64_t byte) {
            const uint64_t number = part_with(all.size(), servers_, byte - all.begin);
            const Range its = part(all, servers_, number);
            return number * round.pieces + part_with(its.size(), round.pieces, byte - its.begin);
        };
        const uint64_t begin = piece_with(std::max(range.begin, all.begin));
        const uint64_t end = piece_with(std::min(range.end, all.end) - 1) + 1;
        const uint64_t own = servers_ - 1 - lane.server;
        has_own |= begin < (own + 1) * round.pieces && end > own * round.pieces;
        list.wait_for_each(channel * slots() + rail_slot(), end - begin, [&](uint64_t j) {
            const uint64_t after = (lane.server + (begin + j) / round.pieces) % servers_;
            const uint64_t arrives = after + 1 == servers_ ? servers_ - 2 : servers_ - 1 + after;
            return round.first + arrives * round.pieces + (begin + j) % round.pieces;
        });
    }
    if (has_own) wait_for_pieces(lane, turn, piece, piece + 1, list);
}

bool TwoLevelRings::may_feed(uint32_t inlet, uint32_t index) const {
    return inlet / slots() == index / slots() && inlet % slots() <= rail_slot() &&
           index % slots() >= rail_slot();
}

uint64_t TwoLevelRings::stream_bytes(uint32_t member, uint32_t index) const {
    const Lane lane = lane_of(member, index);
    if (lane.slot != rail_slot()) {
        const uint32_t owner = lane.slot > rail_slot()
                                   ? lane.place
                                   : (lane.place + places_ - distance(lane.slot)) % places_;
        return part(lane.channel.data, places_, owner).size();
    }
    uint64_t bytes = 0;
    for (const Round& round : lane.channel.rounds) {
        const Turn& turn = lane.channel.turns[round.turn];
        const Range all = part(share(lane.channel, turn, lane.place), turn.rounds, round.index);
        bytes += 2 * all.size() - block(all, lane.server).size() -
                 block(all, (lane.server + 1) % servers_).size();
    }
    return bytes;
}

uint64_t TwoLevelRings::most_under_way() const {
    uint64_t most = 1;
    for (const Channel& channel : channels_) most = std::max({most, channel.inside, channel.rail});
    return most;
}

uint64_t TwoLevelRings::arrivals(uint32_t) const {
    uint64_t sum = 0;
    for (const Channel& channel : channels_)
        sum += 2 * uint64_t{places_ - 1} * channel.inside + channel.rail;
    return sum;
}

}  // namespace tulle::workload
