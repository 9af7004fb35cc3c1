#include "workload/schedules/each_to_each.h"

#include "base/check.h"

namespace tulle::workload {

Range range_between(const CollectiveOptions& options, uint64_t members, uint32_t from,
                    uint32_t to) {
    switch (options.collective) {
        case Collective::reduce_scatter: return part({0, options.bytes}, members, to);
        case Collective::all_gather: return part({0, options.bytes}, members, from);
        default: return part({from * options.bytes, (from + 1) * options.bytes}, members, to);
    }
}

EachToEach::EachToEach(const CollectiveOptions& options, const Placement& placement)
    : Shape(options, placement) {
    if (members_ < 2) return;
    const uint64_t n = members_;
    counts_.streams = (members_ - 1) * options_.channels;
    const uint64_t low = options_.bytes / n;
    const uint64_t high = low + (options_.bytes % n != 0 ? 1 : 0);
    const auto pieces_of = [&](uint64_t bytes) {
        return parts_of(part({0, bytes}, options_.channels, 0).size(), options_.chunking.chunk);
    };
    most_pieces_ = pieces_of(high);
    counts_.smallest_bytes = low / options_.channels / pieces_of(low);
    counts_.numbers = (n - 1) * n * most_pieces_ * options_.channels;
    counts_.messages = counts_.numbers;
    if (pieces_of(low) == most_pieces_) return;
    counts_.messages = 0;
    for (uint32_t member = 0; member < members_; ++member) counts_.messages += arrivals(member);
}

uint64_t EachToEach::pieces(uint32_t from, uint32_t to) const {
    const Range first = part(range_between(options_, members_, from, to), options_.channels, 0);
    return parts_of(first.size(), options_.chunking.chunk);
}

EachToEach::DirectPeer EachToEach::peer_at(uint32_t member, uint32_t index) const {
    const uint32_t server = placement_.server_of(member);
    const bool has_inside = placement_.has_scale_up();
    const uint32_t inside = has_inside ? placement_.count_of(server) - 1 : 0;
    const uint32_t before = has_inside ? member - placement_.first_of(server) : 0;
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

uint32_t EachToEach::streams_inside(uint32_t member) const {
    const bool has_inside = placement_.has_scale_up();
    const uint32_t inside = has_inside ? placement_.count_of(placement_.server_of(member)) - 1 : 0;
    return inside * options_.channels;
}

std::pair<uint32_t, uint32_t> EachToEach::opened_by(uint32_t member, uint32_t turn) const {
    const uint64_t first =
        streams_inside(member) + (uint64_t{turn} + options_.peers) * options_.channels;
    if (options_.peers == 0 || first >= counts_.streams) return {0, 0};
    return {static_cast<uint32_t>(first), static_cast<uint32_t>(first) + options_.channels};
}

uint32_t EachToEach::ends_turn(uint32_t member, uint32_t turn) const {
    return streams_inside(member) + (turn + 1) * options_.channels - 1;
}

Stream EachToEach::stream(uint32_t member, uint32_t index) const {
    const DirectPeer peer = peer_at(member, index / options_.channels);
    Stream stream;
    stream.peer = peer.member;
    stream.tier = placement_.tier(member, peer.member);
    stream.channel = static_cast<uint16_t>(index % options_.channels);
    stream.messages = pieces(member, peer.member);
    stream.window = window_between(member, peer.member);
    if (peer.turn == Stream::kNoTurn) return stream;
    if (options_.peers != 0 && peer.turn >= options_.peers)
        stream.gate = peer.turn - options_.peers;
    if (stream.channel + 1 == options_.channels) stream.turn = peer.turn;
    return stream;
}

StreamMessage EachToEach::message(uint32_t member, uint32_t index, uint64_t k) const {
    const DirectPeer peer = peer_at(member, index / options_.channels);
    const auto channel = static_cast<uint16_t>(index % options_.channels);
    StreamMessage message;
    message.number =
        ((uint64_t{peer.position} * members_ + member) * most_pieces_ + k) * options_.channels +
        channel;
    const Range data =
        part(range_between(options_, members_, member, peer.member), options_.channels, channel);
    message.bytes = part(data, pieces(member, peer.member), k).size();
    return message;
}

// Nothing waits for what arrives.
StreamSource EachToEach::source(uint32_t, uint32_t) const {
    TULLE_CHECK(false);
    return {};
}

uint64_t EachToEach::stream_bytes(uint32_t member, uint32_t index) const {
    const DirectPeer peer = peer_at(member, index / options_.channels);
    const Range all = range_between(options_, members_, member, peer.member);
    return part(all, options_.channels, index % options_.channels).size();
}

uint64_t EachToEach::arrivals(uint32_t member) const {
    uint64_t sum = 0;
    for (uint32_t from = 0; from < members_; ++from)
        if (from != member) sum += pieces(from, member) * options_.channels;
    return sum;
}

}  // namespace tulle::workload
