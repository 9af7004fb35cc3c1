#include "fabric/groups.h"

#include <algorithm>

#include "wire/opcode.h"

namespace tulle::fabric {

void readdress(Transit& transit, wire::Packet& packet, const Group& group, uint32_t number,
               const Group::Member& to) {
    packet.source = group.source != 0 ? group.source : kGroupBit | number;
    packet.destination = to.endpoint;
    packet.set_dest_qp(to.qpn);
    if ((wire::opcode_info(static_cast<uint8_t>(packet.opcode)).headers & wire::kReth) != 0)
        packet.extended.rdma.rkey = to.rkey;
    transit.destination = to.endpoint;
}

Reductions::Reductions(const Groups& groups) {
    for (const Group& group : groups) {
        sums_.push_back({static_cast<uint32_t>(next_.size()), 0});
        next_.insert(next_.end(), group.contributors.size(), group.first_psn.value);
    }
}

std::optional<bool> Reductions::completes(const Group& group, uint32_t number,
                                          const wire::Packet& packet) {
    Sum& sum = sums_[number];
    const std::span next = std::span(next_).subspan(sum.first, group.contributors.size());
    const auto found = std::ranges::find(group.contributors, packet.source);
    if (found == group.contributors.end()) return std::nullopt;
    uint64_t& mine = next[static_cast<size_t>(found - group.contributors.begin())];
    // A sender's PSNs never go back, so they tell how often they have wrapped.
    const uint64_t psn = mine + ((packet.psn_bits - mine) & wire::kPsnMask);
    if (psn != mine) sum.lost_until = std::max(sum.lost_until, psn);
    mine = psn + 1;
    return psn >= sum.lost_until &&
           std::ranges::all_of(next, [&](uint64_t other) { return other > psn; });
}

uint16_t SharedRooms::take(uint16_t in_port, uint32_t copies) {
    if (free_.empty()) {
        TULLE_CHECK(rooms_.size() < UINT16_MAX);
        free_.push_back(static_cast<uint16_t>(rooms_.size()));
        rooms_.emplace_back();
    }
    const uint16_t room = free_.back();
    free_.pop_back();
    rooms_[room] = {copies, in_port};
    return room;
}

std::optional<uint16_t> SharedRooms::release(uint16_t room) {
    if (--rooms_[room].copies != 0) return std::nullopt;
    free_.push_back(room);
    return rooms_[room].in_port;
}

}  // namespace tulle::fabric
