#include "control/subnet/manager/plan.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "control/subnet/agent/node_tables.h"
#include "control/subnet/routing/repair.h"
#include "topology/text.h"
#include "wire/mad/smp_tables.h"

namespace tulle::control {
namespace {

constexpr uint64_t kGidPrefix = 0xfe80'0000'0000'0000;  // the default one

// Whether `after` has the same switches and LIDs as `before`, and no new link.
bool has_only_lost_links(const Subnet& before, const Subnet& after) {
    if (before.switch_count() != after.switch_count() || before.lid_end() != after.lid_end())
        return false;
    for (uint32_t id = 0; id < after.link_count(); ++id) {
        const Subnet::Link& link = after.link(id);
        const uint32_t was = before.link_at(link.from, link.port);
        if (was == kNone || before.link(was).to != link.to ||
            before.link(was).to_port != link.to_port)
            return false;
    }
    for (uint32_t lid = 0; lid < after.lid_end(); ++lid) {
        const Subnet::Place& is = after.place(lid);
        const Subnet::Place& was = before.place(lid);
        if (is.home != kNone && (is.home != was.home || is.port != was.port)) return false;
    }
    return true;
}

constexpr uint8_t lanes_of(uint8_t vl_code) {
    return vl_code == wire::kVl0To14 ? uint8_t{15} : static_cast<uint8_t>(1u << (vl_code - 1));
}

// Folds a lane that a port does not have onto one that it has, as OpenSM does; 15 means drop.
uint8_t folded(uint8_t lane, uint8_t vl_code) {
    return lane == 15 ? lane : static_cast<uint8_t>(lane & ((1u << (vl_code - 1)) - 1));
}

uint64_t most_common(std::vector<uint64_t> maps) {
    std::ranges::sort(maps);
    uint64_t best = maps.front();
    size_t most = 0;
    for (size_t i = 0; i < maps.size();) {
        size_t end = i;
        while (end < maps.size() && maps[end] == maps[i]) ++end;
        if (end - i > most) {
            most = end - i;
            best = maps[i];
        }
        i = end;
    }
    return best;
}

}  // namespace

void SubnetPlan::make(const FoundFabric& fabric, const LidsByGuid& lids) {
    LidOwners owners;
    const topology::Graph graph = graph_of(fabric, lids, owners);
    ++routings_;
    std::optional<Subnet> before = std::exchange(subnet_, std::move(*Subnet::make(graph, owners)));
    std::vector<uint64_t> switches;
    for (const uint32_t node : switch_nodes_) switches.push_back(fabric[node].guid());
    const bool is_known = std::exchange(routed_switches_, switches) == switches;
    if (is_known && before && has_only_lost_links(*before, *subnet_))
        routing_ = repair(*before, *subnet_, *engine_, settings_.routing, routing_).routing;
    else
        route_anew();
    find_keys(fabric);
}

// The discovered fabric as a graph for the engines: a port of an adapter is a host. Nodes are in
// the order of their LIDs. These are stable, so a switch has the same number after each sweep.
topology::Graph SubnetPlan::graph_of(const FoundFabric& fabric, const LidsByGuid& lids,
                                     LidOwners& owners) {
    topology::Graph graph;
    uint32_t highest = 0;
    for (const auto& [guid, lid] : lids) highest = std::max<uint32_t>(highest, lid);
    const uint32_t width = 1u << settings_.lmc;
    owners.assign(lids.empty() ? 0 : highest + width, {kNone, 0});
    switch_nodes_.clear();
    switch_of_.clear();
    std::vector<uint32_t> order(fabric.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](uint32_t node) { return lid_of(fabric[node], lids); });
    std::vector<uint32_t> place(fabric.size());
    for (const uint32_t node : order) {
        const FoundNode& found = fabric[node];
        topology::Node entry;
        entry.name = topology::text("n", node);
        entry.kind = found.is_switch ? topology::NodeKind::switch_node : topology::NodeKind::host;
        entry.port_count = found.port_count();
        place[node] = graph.add(std::move(entry));
        const uint16_t lid = lid_of(found, lids);
        uint16_t port = 0;
        for (uint32_t number = 1; number < found.ports.size() && !found.is_switch; ++number)
            if (found.ports[number].peer != kNone) port = static_cast<uint16_t>(number - 1);
        if (lid != 0)
            for (uint32_t i = 0; i < (found.is_switch ? 1 : width); ++i)
                owners[lid + i] = {place[node], port};
        if (!found.is_switch) continue;
        switch_of_[node] = static_cast<uint32_t>(switch_nodes_.size());
        switch_nodes_.push_back(node);
    }
    while (!owners.empty() && owners.back().node == kNone && owners.size() > highest + 1u)
        owners.pop_back();
    for (const uint32_t node : order) add_cables(fabric, node, place, graph);
    return graph;
}

// Both ends must report the cable, so a node that lies joins nobody.
void SubnetPlan::add_cables(const FoundFabric& fabric, uint32_t node,
                            const std::vector<uint32_t>& place, topology::Graph& graph) const {
    for (uint32_t number = 1; number < fabric[node].ports.size(); ++number) {
        const FoundPort& port = fabric[node].ports[number];
        const bool is_mine =
            port.peer != kNone &&
            std::pair(node, number) < std::pair(port.peer, uint32_t{port.peer_port});
        if (!is_mine || fabric.peer_of(node, static_cast<uint8_t>(number)) == nullptr) continue;
        topology::Cable cable;
        cable.a = {place[node], static_cast<uint16_t>(number - 1)};
        cable.b = {place[port.peer], static_cast<uint16_t>(port.peer_port - 1)};
        graph.cables.push_back(cable);
    }
}

void SubnetPlan::route_anew() {
    if (settings_.engine != nullptr) {
        routing_ = settings_.engine->route(*subnet_, settings_.routing);
        engine_ = settings_.engine;
    } else {
        ChosenRouting chosen = route_by_shape(*subnet_, settings_.routing);
        routing_ = std::move(chosen.routing);
        engine_ = chosen.engine;
    }
    engine_name_ = engine_->name;
}

void SubnetPlan::find_keys(const FoundFabric& fabric) {
    keys_.assign(fabric.size(), {kDefaultPartition});
    if (settings_.partitions == nullptr) return;
    for (uint32_t node = 0; node < fabric.size(); ++node)
        keys_[node] = settings_.partitions->keys_of(
            {.guid = fabric[node].port_guid(),
             .name = fabric[node].description,
             .is_switch = fabric[node].is_switch,
             .is_manager = fabric[node].port_guid() == settings_.port_guid});
}

void SubnetPlan::make_trees(const FoundFabric& fabric, const std::vector<MulticastGroup>& groups) {
    masks_.clear();
    for (const MulticastGroup& group : groups) {
        std::vector<GroupPlace> members;
        for (const MulticastGroup::Member& member : group.members) {
            const uint32_t node = fabric.node_of(member.port_guid);
            if (node == kNone) continue;
            if (fabric[node].is_switch) {
                members.push_back({switch_of_.at(node), kSwitchItself, member.receives});
                continue;
            }
            const FoundPort& port = fabric[node].ports[fabric[node].own_port()];
            if (port.peer == kNone || !fabric[port.peer].is_switch) continue;
            members.push_back({switch_of_.at(port.peer), port.peer_port, member.receives});
        }
        const uint32_t number = uint32_t{group.lid} - kFirstMulticastLid;
        for (const TreePort& port : multicast_tree(*subnet_, routing_.order, members, group.lid)) {
            const uint32_t modifier = uint32_t{port.port} / 16 << 28 | number / 32;
            masks_[port.s][modifier][number % 32] |= static_cast<uint16_t>(1u << port.port % 16);
        }
    }
}

void SubnetPlan::list_tables(const FoundFabric& fabric, uint32_t node,
                             std::vector<SmpRequest>& sets) const {
    const FoundNode& found = fabric[node];
    const auto set = [&](uint16_t attribute, uint32_t modifier) {
        sets.push_back(
            {.node = node, .attribute = attribute, .modifier = modifier, .is_set = true});
    };
    if (found.is_switch) {
        const uint32_t blocks = (subnet_->lid_end() + kLidsOfBlock - 1) / kLidsOfBlock;
        for (uint32_t n = 0; n < blocks; ++n) set(wire::kSmpLinearForwardingTable, n);
    }
    if (settings_.partitions != nullptr) {
        const auto blocks = [](const std::vector<uint16_t>& keys) {
            return std::clamp<uint32_t>(static_cast<uint32_t>(keys.size() + 31) / 32, 1,
                                        kPartitionBlocks);
        };
        for (uint32_t n = 0; n < blocks(keys_[node]); ++n) set(wire::kSmpPKeyTable, n);
        for (uint32_t port = 1; port < found.ports.size() && found.is_switch; ++port)
            if (enforces_partitions(fabric, node, static_cast<uint8_t>(port)))
                for (uint32_t n = 0; n < blocks(keys_[found.ports[port].peer]); ++n)
                    set(wire::kSmpPKeyTable, port << 16 | n);
    }
    if (settings_.qos == nullptr) return;
    for (uint32_t port = 1; port < found.ports.size(); ++port) {
        if (!found.ports[port].is_known || !found.ports[port].is_up()) continue;
        set(wire::kSmpVlArbitrationTable, 1u << 16 | (found.is_switch ? port : 0));
        set(wire::kSmpVlArbitrationTable, 3u << 16 | (found.is_switch ? port : 0));
    }
}

void SubnetPlan::list_groups(uint32_t node, std::vector<SmpRequest>& sets) const {
    const auto s = switch_of_.find(node);
    const auto masks = s == switch_of_.end() ? masks_.end() : masks_.find(s->second);
    if (masks == masks_.end()) return;
    for (const auto& [modifier, block] : masks->second)
        sets.push_back({.node = node,
                        .attribute = wire::kSmpMulticastForwardingTable,
                        .modifier = modifier,
                        .is_set = true});
}

void SubnetPlan::list_congestion(const FoundFabric& fabric, uint32_t node,
                                 std::vector<SmpRequest>& sets) const {
    if (settings_.congestion == nullptr) return;
    const auto set = [&](uint16_t attribute, uint32_t modifier) {
        sets.push_back({.node = node,
                        .attribute = attribute,
                        .modifier = modifier,
                        .is_set = true,
                        .is_congestion = true});
    };
    if (fabric[node].is_switch) return set(wire::kCongestionSwitchSetting, 0);
    set(wire::kCongestionCaSetting, 0);
    for (uint32_t n = 0; n * 64 < settings_.congestion->table.size(); ++n)
        set(wire::kCongestionControlTable, n);
}

std::array<std::byte, wire::kMadSize - 64> SubnetPlan::congestion_data(
    const SmpRequest& request) const {
    std::array<std::byte, wire::kMadSize - 64> data{};
    const CongestionPolicy& policy = *settings_.congestion;
    if (request.attribute == wire::kCongestionSwitchSetting) {
        wire::write(policy.at_switches, data);
    } else if (request.attribute == wire::kCongestionCaSetting) {
        wire::write(policy.at_adapters, data);
    } else {
        wire::CongestionControlTable table;
        table.ccti_limit = static_cast<uint16_t>(policy.table.size() - 1);
        for (size_t i = 0; i < table.entries.size(); ++i)
            if (const size_t at = request.modifier * 64 + i; at < policy.table.size())
                table.entries[i] = policy.table[at];
        wire::write(table, data);
    }
    return data;
}

// --- lanes ---------------------------------------------------------------------------------------

uint8_t SubnetPlan::operational_lanes(const FoundFabric& fabric, uint32_t node,
                                      uint8_t number) const {
    const FoundPort& port = fabric[node].ports[number];
    uint8_t code = port.info.vl_capability;
    if (const FoundPort* const peer = number == 0 ? nullptr : fabric.peer_of(node, number);
        peer != nullptr && peer->is_known)
        code = std::min(code, peer->info.vl_capability);
    if (settings_.qos == nullptr) return code;
    const QosTables& own =
        fabric[node].is_switch ? settings_.qos->switches : settings_.qos->adapters;
    while (code > wire::kVl0 && lanes_of(code) > own.lanes) --code;
    return code;
}

uint8_t SubnetPlan::high_limit(bool is_switch) const {
    if (settings_.qos == nullptr) return 0;
    return is_switch ? settings_.qos->switches.high_limit : settings_.qos->adapters.high_limit;
}

// Lanes against deadlock take precedence over those of the policy. A level that no path uses now
// still maps to a lane, because a sender may have learned it before paths changed.
uint64_t SubnetPlan::wanted_map(const FoundFabric& fabric, uint32_t node, uint8_t in,
                                uint8_t out) const {
    const bool is_switch = fabric[node].is_switch;
    uint64_t packed = 0;
    const auto put = [&](uint8_t level, uint8_t lane) { packed |= uint64_t{lane} << (4 * level); };
    if (routing_.lanes.count > 1 && is_switch) {
        const uint32_t s = switch_of_.at(node);
        const uint32_t in_index = subnet_->port_index(s, in);
        const uint32_t out_index = subnet_->port_index(s, out);
        for (uint8_t level = 0; level < kServiceLevels; ++level)
            put(level, static_cast<uint8_t>(routing_.lanes.rule.lane(in_index, out_index, level) %
                                            routing_.lanes.count));
    } else if (settings_.qos != nullptr) {
        const QosTables& tables = is_switch ? settings_.qos->switches : settings_.qos->adapters;
        const uint8_t lanes = operational_lanes(fabric, node, out);
        for (uint8_t level = 0; level < kServiceLevels; ++level)
            put(level, folded(tables.lane_of_level[level], lanes));
    }
    return packed;
}

uint64_t SubnetPlan::lane_map(const FoundFabric& fabric, uint32_t node, uint32_t modifier) const {
    const FoundNode& found = fabric[node];
    if (!found.is_switch) return wanted_map(fabric, node, found.own_port(), found.own_port());
    const auto out = static_cast<uint8_t>(modifier);
    if ((modifier & kAllInputPorts) == 0)
        return wanted_map(fabric, node, static_cast<uint8_t>(modifier >> 8), out);
    const bool is_for_all = (modifier & kAllOutputPorts) != 0;
    std::vector<uint64_t> maps;
    for (uint32_t o = is_for_all ? 1 : out; o <= (is_for_all ? found.port_count() : out); ++o)
        for (uint32_t in = 0; in <= found.port_count(); ++in)
            maps.push_back(
                wanted_map(fabric, node, static_cast<uint8_t>(in), static_cast<uint8_t>(o)));
    return most_common(std::move(maps));
}

std::vector<SmpRequest> SubnetPlan::lane_sets(const FoundFabric& fabric, uint32_t node,
                                              const std::vector<uint64_t>& known) const {
    const FoundNode& found = fabric[node];
    std::vector<SmpRequest> sets;
    const auto set = [&](uint32_t modifier) {
        sets.push_back({.node = node,
                        .attribute = wire::kSmpSlToVlMappingTable,
                        .modifier = modifier,
                        .is_set = true});
    };
    if (!found.is_switch) {
        const bool is_same = !known.empty() && known[0] == lane_map(fabric, node, 0);
        if (settings_.qos != nullptr && !is_same) set(0);
        return sets;
    }
    const uint32_t ports = found.port_count();
    const bool can_set_many = found.switch_info.optimized_sl_to_vl != 0;
    if (known.empty() && can_set_many) {
        set(kAllInputPorts | kAllOutputPorts);
        return sets;
    }
    std::vector<uint32_t> singles;
    bool sets_many = false;
    for (uint32_t out = 1; out <= ports; ++out) {
        std::vector<uint32_t> differing;
        for (uint32_t in = 0; in <= ports; ++in)
            if (known.empty() ||
                known[in * (ports + 1) + out] !=
                    wanted_map(fabric, node, static_cast<uint8_t>(in), static_cast<uint8_t>(out)))
                differing.push_back(in << 8 | out);
        const uint32_t left = can_set_many ? differing_from_all(fabric, node, out) : ports + 1;
        if (1 + left < differing.size()) {
            set(kAllInputPorts | out);
            sets_many = true;
        } else {
            singles.insert(singles.end(), differing.begin(), differing.end());
        }
    }
    if (!sets_many)
        for (const uint32_t modifier : singles) set(modifier);
    return sets;
}

// Inputs of an output port whose map differs from the most common one.
uint32_t SubnetPlan::differing_from_all(const FoundFabric& fabric, uint32_t node,
                                        uint32_t out) const {
    const uint64_t common = lane_map(fabric, node, kAllInputPorts | out);
    uint32_t count = 0;
    for (uint32_t in = 0; in <= fabric[node].port_count(); ++in)
        count +=
            wanted_map(fabric, node, static_cast<uint8_t>(in), static_cast<uint8_t>(out)) != common;
    return count;
}

TableBlock SubnetPlan::block(const FoundFabric& fabric, const SmpRequest& request) const {
    TableBlock data{};
    switch (request.attribute) {
        case wire::kSmpLinearForwardingTable: {
            const auto ports = routing_.tables.block(switch_of_.at(request.node), request.modifier);
            std::ranges::transform(ports, data.begin(),
                                   [](uint8_t port) { return std::byte{port}; });
            break;
        }
        case wire::kSmpSlToVlMappingTable: {
            const uint64_t packed = lane_map(fabric, request.node, request.modifier);
            wire::SlToVlMappingTable map;
            for (uint8_t level = 0; level < kServiceLevels; ++level)
                map.vl_of_sl[level] = packed >> (4 * level) & 15;
            wire::write(map, data);
            break;
        }
        case wire::kSmpVlArbitrationTable: return arbitration(fabric, request);
        case wire::kSmpPKeyTable: return partition_block(fabric, request);
        case wire::kSmpMulticastForwardingTable: {
            wire::MulticastForwardingTable table;
            const auto masks = masks_.find(switch_of_.at(request.node));
            if (masks != masks_.end())
                if (const auto found = masks->second.find(request.modifier);
                    found != masks->second.end())
                    for (size_t i = 0; i < table.port_masks.size(); ++i)
                        table.port_masks[i].value = found->second[i];
            wire::write(table, data);
            break;
        }
        default: break;
    }
    return data;
}

TableBlock SubnetPlan::arbitration(const FoundFabric& fabric, const SmpRequest& request) const {
    const FoundNode& found = fabric[request.node];
    const QosTables& tables = found.is_switch ? settings_.qos->switches : settings_.qos->adapters;
    const bool is_high = request.modifier >> 16 == 3;
    const auto port = found.is_switch ? static_cast<uint8_t>(request.modifier) : found.own_port();
    const uint8_t lanes = operational_lanes(fabric, request.node, port);
    wire::VlArbitrationTable table;
    const auto& list = is_high ? tables.high : tables.low;
    for (size_t i = 0, n = 0; i < list.size() && n < table.entries.size(); ++i)
        if (list[i].vl < lanes_of(lanes)) table.entries[n++] = list[i];
    TableBlock data{};
    wire::write(table, data);
    return data;
}

bool SubnetPlan::enforces_partitions(const FoundFabric& fabric, uint32_t node,
                                     uint8_t number) const {
    const FoundNode& found = fabric[node];
    const uint32_t peer = found.ports[number].peer;
    return settings_.partitions != nullptr && found.is_switch && number != 0 && peer != kNone &&
           !fabric[peer].is_switch && found.switch_info.partition_enforcement_capacity > 0;
}

TableBlock SubnetPlan::partition_block(const FoundFabric& fabric, const SmpRequest& request) const {
    const FoundNode& found = fabric[request.node];
    const uint32_t port = request.modifier >> 16;
    const std::vector<uint16_t>& keys =
        found.is_switch && port != 0 ? keys_[found.ports[port].peer] : keys_[request.node];
    wire::PKeyTable table;
    for (size_t i = 0; i < table.entries.size(); ++i)
        if (const size_t at = (request.modifier & 0xffff) * 32 + i; at < keys.size())
            table.entries[i].value = keys[at];
    TableBlock data{};
    wire::write(table, data);
    return data;
}

wire::PortInfo SubnetPlan::wanted_port(const FoundFabric& fabric, const LidsByGuid& lids,
                                       const SmpRequest& request) const {
    const FoundNode& found = fabric[request.node];
    const auto number = static_cast<uint8_t>(request.modifier);
    wire::PortInfo wanted = found.ports[number].info;
    const auto own = lids.find(settings_.port_guid);
    wanted.m_key.value = settings_.m_key;
    wanted.m_key_lease_period = settings_.m_key_lease_period;
    wanted.m_key_protect_bits = settings_.m_key_protection_level;
    wanted.gid_prefix.value = kGidPrefix;
    wanted.master_sm_lid.value = own == lids.end() ? uint16_t{0} : own->second;
    wanted.neighbor_mtu = wanted.mtu_capability;
    if (const FoundPort* const peer = number == 0 ? nullptr : fabric.peer_of(request.node, number);
        peer != nullptr && peer->is_known)
        wanted.neighbor_mtu = std::min(wanted.mtu_capability, peer->info.mtu_capability);
    wanted.operational_vls = operational_lanes(fabric, request.node, number);
    wanted.vl_high_limit = high_limit(found.is_switch);
    wanted.inbound_enforcement = wanted.outbound_enforcement =
        enforces_partitions(fabric, request.node, number);
    const bool has_lid = !found.is_switch || number == 0;
    wanted.lid.value = has_lid ? lid_of(found, lids) : uint16_t{0};
    wanted.lmc = found.is_switch ? uint8_t{0} : settings_.lmc;
    wanted.port_state = request.wanted_state;
    wanted.physical_state = wire::kPhysicalNoChange;
    return wanted;
}

}  // namespace tulle::control
