// The configuration that a manager wants: routes, lanes, partitions, arbitration and multicast
// trees for the discovered fabric, in the blocks that SMPs carry.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "control/subnet/manager/found.h"
#include "control/subnet/manager/multicast.h"
#include "control/subnet/manager/settings.h"
#include "control/subnet/manager/smp_window.h"
#include "control/subnet/tables.h"
#include "wire/mad/smp.h"

namespace tulle::control {

using TableBlock = std::array<std::byte, wire::kSmpDataSize>;

class SubnetPlan {
public:
    explicit SubnetPlan(const ManagerSettings& settings) : settings_(settings) {}

    // Routes the fabric, and keeps as much of the previous routing as possible.
    void make(const FoundFabric& fabric, const LidsByGuid& lids);
    void make_trees(const FoundFabric& fabric, const std::vector<MulticastGroup>& groups);

    bool is_made() const { return subnet_.has_value(); }
    const Subnet& subnet() const { return *subnet_; }
    const Routing& routing() const { return routing_; }
    const std::string& engine_name() const { return engine_name_; }
    uint64_t routings() const { return routings_; }
    uint32_t switch_of(uint32_t node) const { return switch_of_.at(node); }
    // The nodes of FoundFabric that are switches.
    const std::vector<uint32_t>& switch_nodes() const { return switch_nodes_; }
    // The partition keys of a node's port, in the order of its table.
    const std::vector<uint16_t>& keys(uint32_t node) const { return keys_[node]; }

    // Appends the Sets for all tables of a node except the lanes.
    void list_tables(const FoundFabric& fabric, uint32_t node, std::vector<SmpRequest>& sets) const;
    void list_groups(uint32_t node, std::vector<SmpRequest>& sets) const;
    void list_congestion(const FoundFabric& fabric, uint32_t node,
                         std::vector<SmpRequest>& sets) const;
    // The next Sets of SL to VL maps, given the maps that the node has: first one map for all
    // ports, then one for each output port, then single maps. Each kind starts when the previous
    // one is done.
    std::vector<SmpRequest> lane_sets(const FoundFabric& fabric, uint32_t node,
                                      const std::vector<uint64_t>& known) const;
    bool wants_lanes() const { return routing_.lanes.count > 1 || settings_.qos != nullptr; }

    // The data of one of these Sets.
    TableBlock block(const FoundFabric& fabric, const SmpRequest& request) const;
    std::array<std::byte, wire::kMadSize - 64> congestion_data(const SmpRequest& request) const;
    // The map of one pair of ports, packed as WrittenTables keeps it.
    uint64_t lane_map(const FoundFabric& fabric, uint32_t node, uint32_t modifier) const;

    // The settings that the port of a Set should have, and one step towards Active.
    wire::PortInfo wanted_port(const FoundFabric& fabric, const LidsByGuid& lids,
                               const SmpRequest& request) const;
    // The lanes that a port uses, as a VlCode: those that both ends have and the policy allows.
    uint8_t operational_lanes(const FoundFabric& fabric, uint32_t node, uint8_t port) const;
    uint8_t high_limit(bool is_switch) const;
    bool enforces_partitions(const FoundFabric& fabric, uint32_t node, uint8_t port) const;

private:
    using Masks = std::array<uint16_t, 32>;

    topology::Graph graph_of(const FoundFabric& fabric, const LidsByGuid& lids, LidOwners& owners);
    void add_cables(const FoundFabric& fabric, uint32_t node, const std::vector<uint32_t>& place,
                    topology::Graph& graph) const;
    void route_anew();
    void find_keys(const FoundFabric& fabric);
    uint64_t wanted_map(const FoundFabric& fabric, uint32_t node, uint8_t in, uint8_t out) const;
    uint32_t differing_from_all(const FoundFabric& fabric, uint32_t node, uint32_t out) const;
    TableBlock arbitration(const FoundFabric& fabric, const SmpRequest& request) const;
    TableBlock partition_block(const FoundFabric& fabric, const SmpRequest& request) const;

    const ManagerSettings& settings_;
    std::optional<Subnet> subnet_;
    Routing routing_;
    const RoutingEngine* engine_ = nullptr;  // the engine that routed last
    std::string engine_name_;
    std::vector<uint64_t> routed_switches_;  // GUIDs by switch of the subnet
    uint64_t routings_ = 0;
    std::vector<uint32_t> switch_nodes_;                   // by switch of the subnet: a node
    std::unordered_map<uint32_t, uint32_t> switch_of_;     // by node
    std::vector<std::vector<uint16_t>> keys_;              // by node
    std::map<uint32_t, std::map<uint32_t, Masks>> masks_;  // by switch and modifier
};

}  // namespace tulle::control
