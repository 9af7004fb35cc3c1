#include "workload/schedules/two_level_pass.h"

#include <algorithm>

namespace tulle::workload {

TwoLevelPass::TwoLevelPass(const CollectiveOptions& options, const Placement& placement)
    : Shape(options, placement),
      servers_(placement.server_count()),
      places_(placement.count_of(0)) {
    for (uint16_t channel = 0; channel < options_.channels; ++channel) add_channel(channel);
    counts_.streams = counts_.inlets = options_.channels * places_;
    counts_.messages = counts_.numbers;
}

// There is no closed form if some blocks are cut into more pieces than others, because they are a
// byte longer.
void TwoLevelPass::add_channel(uint16_t number) {
    Channel& channel = channels_.emplace_back();
    const uint64_t low = options_.bytes / members_;
    const uint64_t high = low + (options_.bytes % members_ != 0 ? 1 : 0);
    const auto size = [&](uint64_t of_all) {
        return part({0, of_all}, options_.channels, number).size();
    };
    channel.pieces = parts_of(size(high), options_.chunking.chunk);
    const bool is_alike = parts_of(size(low), options_.chunking.chunk) == channel.pieces;
    note_smallest(is_alike ? std::min(size(low), size(high)) : 0, channel.pieces);
    const uint64_t inside = uint64_t{members_} * servers_ * (places_ - 1) * channel.pieces;
    const uint64_t rails = uint64_t{members_} * (servers_ - 1) * channel.pieces;
    channel.inside = counts_.numbers + (reduces() ? 0 : rails);
    channel.rails = counts_.numbers + (reduces() ? inside : 0);
    counts_.numbers += inside + rails;
}

TwoLevelPass::Lane TwoLevelPass::lane_of(uint32_t member, uint32_t index) const {
    return {static_cast<uint16_t>(index / places_), member / places_, member % places_,
            index % places_};
}

Range TwoLevelPass::block(uint32_t server, uint32_t place, uint16_t channel) const {
    return part(part({0, options_.bytes}, members_, server * places_ + place), options_.channels,
                channel);
}

TwoLevelPass::Load TwoLevelPass::load_of(const Lane& lane, uint64_t k) const {
    const uint64_t pieces = channels_[lane.channel].pieces;
    Load load;
    load.place = lane.place;
    if (lane.slot == rail_slot()) {
        const uint64_t slices = options_.chunking.at_once();
        const uint64_t batch = slices == 0 ? pieces : slices;
        const uint64_t begin = k / (batch * (servers_ - 1)) * batch;
        load.batch = std::min(batch, pieces - begin);
        const uint64_t in_batch = k - begin * (servers_ - 1);
        load.step = static_cast<uint32_t>(in_batch / load.batch);
        load.piece = begin + in_batch % load.batch;
        load.is_first = load.piece == begin;
    } else {
        load.step = static_cast<uint32_t>(k / pieces);
        load.piece = k % pieces;
        if (reduces()) load.place = (lane.place + places_ - lane.slot - 1) % places_;
    }
    const uint32_t behind = load.step + (reduces() ? 1 : 0);
    load.server = (lane.server + 2 * servers_ - behind) % servers_;
    return load;
}

// The message of the ring that has this piece in this step.
uint64_t TwoLevelPass::rail_message(const Channel& channel, uint32_t step, uint64_t piece) const {
    const uint64_t slices = options_.chunking.at_once();
    const uint64_t batch = slices == 0 ? channel.pieces : slices;
    const uint64_t begin = piece / batch * batch;
    return begin * (servers_ - 1) + step * std::min(batch, channel.pieces - begin) + piece - begin;
}

Stream TwoLevelPass::stream(uint32_t member, uint32_t index) const {
    const Lane lane = lane_of(member, index);
    const bool is_rail = lane.slot == rail_slot();
    Stream stream;
    stream.peer = is_rail ? (member + places_) % members_
                          : member - lane.place + (lane.place + places_ - lane.slot - 1) % places_;
    stream.tier = placement_.tier(member, stream.peer);
    stream.channel = lane.channel;
    if (!is_rail && !reduces())
        stream.channel = static_cast<uint16_t>(stream.channel + options_.channels);
    stream.inlet = index;
    stream.messages = channels_[lane.channel].pieces * (is_rail ? servers_ - 1 : servers_);
    stream.window = window_between(member, stream.peer);
    return stream;
}

StreamSource TwoLevelPass::source(uint32_t member, uint32_t inlet) const {
    const Lane lane = lane_of(member, inlet);
    if (lane.slot == rail_slot()) return {(member + members_ - places_) % members_, inlet};
    return {member - lane.place + (lane.place + lane.slot + 1) % places_, inlet};
}

StreamMessage TwoLevelPass::message(uint32_t member, uint32_t index, uint64_t k) const {
    const Lane lane = lane_of(member, index);
    const Channel& channel = channels_[lane.channel];
    const Load load = load_of(lane, k);
    StreamMessage message;
    message.bytes =
        part(block(load.server, load.place, lane.channel), channel.pieces, load.piece).size();
    message.continues = !load.is_first;
    if (lane.slot == rail_slot()) {
        const uint64_t of_rail = uint64_t{servers_} * (servers_ - 1) * channel.pieces;
        message.number = channel.rails + lane.place * of_rail + k * servers_ + lane.server;
    } else {
        const uint64_t step = uint64_t{load.step} * servers_ + lane.server;
        const uint64_t visit = (step * (places_ - 1) + lane.slot) * places_ + load.place;
        message.number = channel.inside + visit * channel.pieces + load.piece;
    }
    list_needs(member, index, k, 0, message);
    return message;
}

void TwoLevelPass::list_needs(uint32_t member, uint32_t index, uint64_t k, uint32_t first,
                              StreamMessage& message) const {
    const Lane lane = lane_of(member, index);
    const Channel& channel = channels_[lane.channel];
    const Load load = load_of(lane, k);
    const uint32_t inlet = index - lane.slot;
    NeedList list(message, first);
    if (lane.slot == rail_slot()) {
        if (load.step > 0) list.wait_for(inlet + rail_slot(), k - load.batch, k - load.batch + 1);
        const uint64_t own = load.step * channel.pieces + load.piece;
        for (uint32_t slot = 0; slot < rail_slot() && reduces(); ++slot)
            list.wait_for(inlet + slot, own, own + 1);
    } else if (!reduces() && load.step > 0) {
        const uint64_t arrived = rail_message(channel, load.step - 1, load.piece);
        list.wait_for(inlet + rail_slot(), arrived, arrived + 1);
    }
}

bool TwoLevelPass::may_feed(uint32_t inlet, uint32_t index) const {
    if (inlet / places_ != index / places_) return false;
    const uint32_t feeding = reduces() ? index % places_ : inlet % places_;
    return feeding == rail_slot();
}

uint64_t TwoLevelPass::stream_bytes(uint32_t member, uint32_t index) const {
    const Lane lane = lane_of(member, index);
    const bool is_rail = lane.slot == rail_slot();
    const uint32_t place = load_of(lane, 0).place;
    const uint32_t left_out = reduces() ? lane.server : (lane.server + 1) % servers_;
    const uint64_t blocks = is_rail ? servers_ - 1 : servers_;
    if (options_.bytes % members_ == 0) return blocks * block(0, place, lane.channel).size();
    uint64_t bytes = 0;
    for (uint32_t server = 0; server < servers_; ++server)
        if (!is_rail || server != left_out) bytes += block(server, place, lane.channel).size();
    return bytes;
}

uint64_t TwoLevelPass::most_under_way() const {
    uint64_t most = 1;
    for (const Channel& channel : channels_) most = std::max(most, channel.pieces * servers_);
    return most;
}

uint64_t TwoLevelPass::arrivals(uint32_t) const {
    uint64_t sum = 0;
    for (const Channel& channel : channels_)
        sum += channel.pieces * (uint64_t{servers_} * (places_ - 1) + servers_ - 1);
    return sum;
}

}  // namespace tulle::workload
