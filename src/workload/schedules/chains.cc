#include "workload/schedules/chains.h"

#include <algorithm>

namespace tulle::workload {

ChainBroadcast::ChainBroadcast(const CollectiveOptions& options, const Placement& placement)
    : Shape(options, placement) {
    if (members_ < 2) return;
    for (uint16_t channel = 0; channel < options_.channels; ++channel) add_chain(channel);
    counts_.streams = counts_.inlets = options_.channels;
}

void ChainBroadcast::add_chain(uint16_t channel) {
    Chain& chain = chains_.emplace_back();
    chain.order = ring_order(placement_, channel);
    std::rotate(chain.order.begin(),
                std::find(chain.order.begin(), chain.order.end(), options_.root),
                chain.order.end());
    chain.position.resize(members_);
    for (uint32_t p = 0; p < members_; ++p) chain.position[chain.order[p]] = p;
    chain.base = counts_.numbers;
    const Range data = channel_data(channel);
    chain.messages = parts_of(data.size(), options_.chunking.chunk);
    note_smallest(data.size(), chain.messages);
    counts_.numbers += chain.messages * (members_ - 1);
    counts_.messages += chain.messages * (members_ - 1);
}

Stream ChainBroadcast::stream(uint32_t member, uint32_t index) const {
    const Chain& chain = chains_[index];
    const uint32_t position = chain.position[member];
    Stream stream;
    if (position + 1 == members_) return stream;
    stream.peer = chain.order[position + 1];
    stream.tier = placement_.tier(member, stream.peer);
    stream.channel = static_cast<uint16_t>(index);
    stream.inlet = index;
    stream.messages = chain.messages;
    stream.window = window_between(member, stream.peer);
    return stream;
}

StreamMessage ChainBroadcast::message(uint32_t member, uint32_t index, uint64_t k) const {
    const auto channel = static_cast<uint16_t>(index);
    const Chain& chain = chains_[channel];
    const uint32_t position = chain.position[member];
    StreamMessage message;
    message.number = chain.base + k * (members_ - 1) + position;
    message.bytes = part(channel_data(channel), chain.messages, k).size();
    if (position > 0) message.wait_for(channel, k);
    return message;
}

StreamSource ChainBroadcast::source(uint32_t member, uint32_t inlet) const {
    const Chain& chain = chains_[inlet];
    return {chain.order[(chain.position[member] + members_ - 1) % members_], inlet};
}

uint64_t ChainBroadcast::most_under_way() const {
    uint64_t most = 1;
    for (const Chain& chain : chains_) most = std::max(most, chain.messages);
    return most;
}

uint64_t ChainBroadcast::arrivals(uint32_t member) const {
    uint64_t sum = 0;
    for (const Chain& chain : chains_) sum += chain.position[member] != 0 ? chain.messages : 0;
    return sum;
}

}  // namespace tulle::workload
