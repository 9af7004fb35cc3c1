// Builds a network from a setup: partitions with nodes, cables, routes, queue pairs and work.
#pragma once

#include "sim/fault_plan.h"
#include "sim/negotiation.h"
#include "sim/network.h"
#include "sim/wiring.h"

namespace tulle::sim {

class Connector;

class Builder {
public:
    Builder(const Setup& setup, size_t partitions, const Share& share);

    base::Result<std::unique_ptr<Network>> build();

private:
    void add_group(const Connector& connector, SwitchGroup& group);
    void join(const Connector& connector, Connection& connection) const;
    uint32_t lanes_needed() const;
    std::array<uint8_t, 16> lane_of_level() const;
    // Whether a subnet manager decides the lane of each path.
    bool has_lanes() const { return network_->lanes() != nullptr; }

    void add_nodes(const Negotiation& negotiation);
    fabric::Port port_of(uint32_t node, uint16_t port) const;
    const fabric::Settings* own_settings(uint32_t node);
    void connect_ports();
    void settle_qos(const Negotiation& negotiation);
    void add_tenants();
    std::vector<uint32_t> guarded_hosts(uint32_t node) const;
    bool is_guarded(uint32_t node, uint16_t port) const;
    void add_routes();
    void write_tables();
    void make_room_for(const std::vector<control::ManagementSent>& management);
    void write_entries(const std::vector<uint32_t>& lists);
    fabric::Routes compute_routes(const std::vector<bool>& cable_down,
                                  const std::vector<bool>& node_down) const;
    void add_changes();
    void reroute_after_delay();
    void fix_paths();
    fabric::SwitchPlan switch_plan(uint32_t node, uint32_t first_port);
    bool crosses_groups(const topology::Cable& cable) const;
    fabric::GroupPlan group_plan(uint32_t node) const;
    cluster::HostPlan host_plan(uint32_t node, uint32_t port);
    transport::AdapterConfig adapter_config(uint32_t node) const;
    void add_work();
    uint32_t switch_of(uint32_t endpoint) const;
    cluster::HostNode& host(uint32_t endpoint);
    fabric::Port& port_at(uint32_t node, uint16_t port);

    const Setup& setup_;
    size_t partition_count_;
    const Share& share_;
    uint32_t lanes_ = 0;
    const Wiring wiring_;
    std::vector<uint32_t> endpoints_;    // node of each
    std::vector<uint32_t> endpoint_of_;  // of each node
    NodeChanges changes_;
    std::vector<fabric::EtsSettings> ets_;  // by node
    std::vector<uint32_t>
        groups_;  // of a dragonfly, by node; empty: there are none, or they are not needed
    std::unique_ptr<Network> network_;
};

}  // namespace tulle::sim
