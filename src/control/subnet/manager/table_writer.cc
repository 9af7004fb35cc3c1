#include "control/subnet/manager/table_writer.h"

#include <algorithm>
#include <set>
#include <utility>

#include "control/subnet/agent/node_tables.h"
#include "wire/mad/smp_tables.h"

namespace tulle::control {
namespace {

constexpr uint8_t kMostLaneRounds = 3;  // all ports, each output port, single maps

// Separates blocks of congestion control from SMPs with the same attribute number.
uint16_t written_as(const SmpRequest& request) {
    return static_cast<uint16_t>(request.attribute | (request.is_congestion ? 0x8000 : 0));
}

}  // namespace

// Forgets tables that a node may have lost. A restarted node has empty tables. It knows no master,
// unless this manager has written to it since. In that case, a switch has no highest LID, or all
// its links are still in the state in which links come up. Another manager may have written to a
// node that a sweep missed, or to all nodes if a port has a LID that this manager did not assign.
// The states used here were read before this sweep wrote any port.
void TableWriter::forget_lost(uint64_t own_guid, LidsByGuid& lids) {
    const uint16_t own = lids[own_guid];
    std::set<uint64_t> trusted;
    for (const FoundNode& found : fabric_.nodes()) {
        const FoundPort& port = found.ports[found.own_port()];
        const uint16_t lid = port.info.lid.value;
        other_wrote_ |= port.is_known && lid != 0 && lid != lid_of(found, lids);
        const auto was_told = [](const FoundPort& each) {
            return each.is_known && each.info.port_state > wire::kPortInitialize;
        };
        const bool is_new_switch =
            found.is_switch && (found.switch_info.linear_top == 0 ||
                                std::none_of(found.ports.begin() + 1, found.ports.end(), was_told));
        if (port.is_known && !is_new_switch && port.info.master_sm_lid.value == own)
            trusted.insert(found.port_guid());
    }
    written_.keep_only(std::exchange(other_wrote_, false) ? std::set<uint64_t>{} : trusted);
}

// Writes blocks that differ from what was written last, and all blocks of a new node.
void TableWriter::write() {
    std::vector<SmpRequest> sets;
    for (uint32_t node = 0; node < fabric_.size(); ++node) {
        const FoundNode& found = fabric_[node];
        if (found.is_switch && found.switch_info.linear_top != plan_.subnet().lid_end() - 1)
            window_.ask({.node = node, .attribute = wire::kSmpSwitchInfo, .is_set = true});
        sets.clear();
        plan_.list_tables(fabric_, node, sets);
        ask_unless_written(sets);
    }
}

void TableWriter::ask_unless_written(const std::vector<SmpRequest>& sets) {
    for (const SmpRequest& set : sets) {
        if (!written_.has(fabric_[set.node].port_guid(), written_as(set), set.modifier,
                          hash_of_block(set)))
            window_.ask(set);
    }
}

// Lanes come after all tables, because a missing route is worse than a wrong lane. True: there are
// maps to write.
bool TableWriter::write_lanes() {
    if (!plan_.wants_lanes() || lane_rounds_ == kMostLaneRounds) return false;
    ++lane_rounds_;
    for (uint32_t node = 0; node < fabric_.size(); ++node)
        for (const SmpRequest& set :
             plan_.lane_sets(fabric_, node, written_.lanes(fabric_[node].port_guid())))
            window_.ask(set);
    return !window_.is_empty();
}

// Blocks of removed groups are written once more, empty.
void TableWriter::write_groups() {
    groups_changed_ = false;
    plan_.make_trees(fabric_, groups_);
    std::vector<SmpRequest> sets;
    for (uint32_t node = 0; node < fabric_.size(); ++node) {
        if (!fabric_[node].is_switch) continue;
        sets.clear();
        plan_.list_groups(node, sets);
        for (const uint32_t modifier :
             written_.modifiers(fabric_[node].port_guid(), wire::kSmpMulticastForwardingTable)) {
            const auto same = [&](const SmpRequest& set) { return set.modifier == modifier; };
            if (std::ranges::none_of(sets, same))
                sets.push_back({.node = node,
                                .attribute = wire::kSmpMulticastForwardingTable,
                                .modifier = modifier,
                                .is_set = true});
        }
        ask_unless_written(sets);
    }
}

void TableWriter::write_congestion() {
    std::vector<SmpRequest> sets;
    for (uint32_t node = 0; node < fabric_.size(); ++node)
        plan_.list_congestion(fabric_, node, sets);
    ask_unless_written(sets);
}

uint64_t TableWriter::hash_of_block(const SmpRequest& set) const {
    return set.is_congestion ? hash_of(plan_.congestion_data(set))
                             : hash_of(plan_.block(fabric_, set));
}

void TableWriter::note(const SmpRequest& request) {
    if (!request.is_congestion && request.attribute == wire::kSmpSlToVlMappingTable)
        return note_lanes(request);
    written_.note(fabric_[request.node].port_guid(), written_as(request), request.modifier,
                  hash_of_block(request));
}

// Records a map like the agent does: it may apply to many ports.
void TableWriter::note_lanes(const SmpRequest& request) {
    const FoundNode& found = fabric_[request.node];
    const uint64_t map = plan_.lane_map(fabric_, request.node, request.modifier);
    std::vector<uint64_t>& known = written_.lanes(found.port_guid());
    if (!found.is_switch) {
        known.assign(1, map);
        return;
    }
    const uint32_t ports = found.port_count() + 1u;
    if (known.empty()) known.assign(size_t{ports} * ports, ~uint64_t{0});
    const bool all_in = (request.modifier & kAllInputPorts) != 0;
    const bool all_out = (request.modifier & kAllOutputPorts) != 0;
    for (uint32_t in = 0; in < ports; ++in)
        for (uint32_t out = 0; out < ports; ++out)
            if ((all_in || in == (request.modifier >> 8 & 0xff)) &&
                (all_out || out == (request.modifier & 0xff)))
                known[size_t{in} * ports + out] = map;
}

bool TableWriter::set_groups(std::vector<MulticastGroup> groups) {
    if (groups_ == groups) return false;
    groups_ = std::move(groups);
    groups_changed_ = true;
    return true;
}

}  // namespace tulle::control
