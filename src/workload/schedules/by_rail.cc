#include "workload/schedules/by_rail.h"

#include "workload/schedules/each_to_each.h"

namespace tulle::workload {

ByRail::ByRail(const CollectiveOptions& options, const Placement& placement)
    : Shape(options, placement) {
    if (members_ < 2) return;
    servers_ = placement_.server_count();
    places_ = placement_.count_of(0);
    counts_.streams = counts_.inlets = (places_ - 1 + servers_ - 1) * options_.channels;
    const uint64_t low = options_.bytes / members_;
    const uint64_t high = low + (options_.bytes % members_ != 0 ? 1 : 0);
    const auto pieces = [&](uint64_t bytes) {
        return parts_of(part({0, bytes}, options_.channels, 0).size(), options_.chunking.chunk);
    };
    most_pieces_ = pieces(high);
    // There is no closed form if the parts of some members are cut into more pieces than others.
    counts_.smallest_bytes =
        pieces(low) == most_pieces_ ? low / options_.channels / most_pieces_ : 0;
    const uint64_t one = most_pieces_ * options_.channels;  // from one member to another
    counts_.messages = counts_.numbers =
        one * members_ *
        (uint64_t{places_ - 1} + uint64_t{servers_ - 1} * (2 * uint64_t{places_} - 1));
}

ByRail::RailStream ByRail::stream_at(uint32_t member, uint32_t index) const {
    RailStream stream;
    stream.channel = static_cast<uint16_t>(index % options_.channels);
    stream.place = member % places_;
    stream.server = member / places_;
    const uint32_t which = index / options_.channels;
    stream.leaves = which >= places_ - 1;
    if (stream.leaves) {
        stream.turn = which - (places_ - 1);
        stream.peer = (stream.server + servers_ - 1 - stream.turn) % servers_ * places_;
        stream.peer += stream.place;
    } else {
        stream.offset = which + 1;
        stream.peer = stream.server * places_ + (stream.place + stream.offset) % places_;
    }
    return stream;
}

Stream ByRail::stream(uint32_t member, uint32_t index) const {
    const RailStream its = stream_at(member, index);
    Stream stream;
    stream.peer = its.peer;
    stream.tier = placement_.tier(member, its.peer);
    stream.channel = its.channel;
    stream.window = window_between(member, its.peer);
    stream.messages = most_pieces_ * (its.leaves ? places_ : servers_);
    // The distance from the peer to the sender is the reverse of that from sender to peer.
    const uint32_t inlet = its.leaves ? places_ - 1 + its.turn : places_ - its.offset - 1;
    stream.inlet = inlet * options_.channels + its.channel;
    if (!its.leaves) return stream;
    if (options_.peers != 0 && its.turn >= options_.peers) stream.gate = its.turn - options_.peers;
    if (its.channel + 1 == options_.channels) stream.turn = its.turn;
    return stream;
}

StreamSource ByRail::source(uint32_t member, uint32_t inlet) const {
    const uint32_t which = inlet / options_.channels;
    const uint32_t channel = inlet % options_.channels;
    const uint32_t place = member % places_;
    const uint32_t server = member / places_;
    if (which < places_ - 1) {
        const uint32_t away = which + 1;  // distance of the sender
        return {server * places_ + (place + away) % places_,
                (places_ - away - 1) * options_.channels + channel};
    }
    const uint32_t turn = which - (places_ - 1);
    return {(server + turn + 1) % servers_ * places_ + place, inlet};
}

// The source and the destination of the data of a segment of a stream.
ByRail::RailData ByRail::data_of(uint32_t member, const RailStream& stream,
                                 uint32_t segment) const {
    const uint32_t first = stream.server * places_;
    if (stream.leaves) return {first + (stream.place + segment) % places_, stream.peer};
    if (segment == 0) return {member, stream.peer};
    const uint32_t there = (stream.server + servers_ - segment) % servers_;
    return {member, there * places_ + stream.peer % places_};
}

uint64_t ByRail::number_of(uint32_t member, const RailStream& stream, uint32_t segment) const {
    const uint64_t inside = uint64_t{places_ - 1} * members_;
    const uint64_t of_turn = 2 * uint64_t{places_} - 1;
    if (stream.leaves)
        return inside + (uint64_t{stream.turn} * members_ + member) * of_turn + 2 * segment;
    if (segment == 0) return uint64_t{places_ - 1 - stream.offset} * members_ + member;
    // The forwarder begins with its own data and continues with those of the places after it.
    const uint32_t behind = places_ - stream.offset;
    return inside + (uint64_t{segment - 1} * members_ + stream.peer) * of_turn + 2 * behind - 1;
}

StreamMessage ByRail::message(uint32_t member, uint32_t index, uint64_t k) const {
    const RailStream stream = stream_at(member, index);
    const auto segment = static_cast<uint32_t>(k / most_pieces_);
    const uint64_t piece = k % most_pieces_;
    const RailData data = data_of(member, stream, segment);
    const Range range = part(range_between(options_, members_, data.from, data.to),
                             options_.channels, stream.channel);
    StreamMessage message;
    message.number =
        (number_of(member, stream, segment) * most_pieces_ + piece) * options_.channels +
        stream.channel;
    message.bytes = part(range, most_pieces_, piece).size();
    if (!stream.leaves || segment == 0) return message;
    const uint32_t inlet = (segment - 1) * options_.channels + stream.channel;
    message.wait_for(inlet, (stream.turn + 1) * most_pieces_ + piece);
    return message;
}

uint64_t ByRail::stream_bytes(uint32_t member, uint32_t index) const {
    const RailStream stream = stream_at(member, index);
    uint64_t bytes = 0;
    for (uint32_t segment = 0; segment < (stream.leaves ? places_ : servers_); ++segment) {
        const RailData data = data_of(member, stream, segment);
        bytes += part(range_between(options_, members_, data.from, data.to), options_.channels,
                      stream.channel)
                     .size();
    }
    return bytes;
}

std::pair<uint32_t, uint32_t> ByRail::opened_by(uint32_t, uint32_t turn) const {
    const uint64_t first =
        (places_ - 1) * options_.channels + (uint64_t{turn} + options_.peers) * options_.channels;
    if (options_.peers == 0 || first >= counts_.streams) return {0, 0};
    return {static_cast<uint32_t>(first), static_cast<uint32_t>(first) + options_.channels};
}

uint32_t ByRail::ends_turn(uint32_t, uint32_t turn) const {
    return (places_ - 1) * options_.channels + (turn + 1) * options_.channels - 1;
}

uint64_t ByRail::arrivals(uint32_t) const {
    if (members_ < 2) return 0;
    return most_pieces_ * options_.channels *
           (uint64_t{places_ - 1} * servers_ + uint64_t{servers_ - 1} * places_);
}

}  // namespace tulle::workload
