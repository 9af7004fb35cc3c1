// Builds a network from a setup: partitions with nodes, cables, routes, queue pairs and work.
#pragma once

#include "sim/negotiation.h"
#include "sim/network.h"

namespace tulle::sim {

class Connector;

class Builder {
public:
    Builder(const Setup& setup, size_t partitions, const Share& share);

    base::Result<std::unique_ptr<Network>> build();

private:
    struct CableChange {
        uint32_t cable = 0;
        Instant at{};
        bool works = false;
    };

    std::optional<base::Error> check() const;
    std::optional<base::Error> check_flows() const;
    std::optional<base::Error> check_fabric() const;
    std::optional<base::Error> check_faults() const;
    std::optional<base::Error> check_paths() const;

    void add_group(const Connector& connector, SwitchGroup& group);
    void join(const Connector& connector, Connection& connection) const;
    uint32_t first_switch() const;
    uint32_t lanes_needed() const;
    std::array<uint8_t, 16> lane_of_level() const;
    // Whether a subnet manager decides the lane of each path.
    bool has_lanes() const { return network_->lanes() != nullptr; }
    Duration delay_of(const topology::Cable& cable) const;

    void add_nodes(const Negotiation& negotiation);
    fabric::Port port_of(uint32_t node, uint16_t port) const;
    base::Rate line_rate(uint32_t node, uint16_t port) const;
    fabric::ErrorModel errors_of(uint32_t node, uint16_t port) const;
    uint32_t headroom_of(const topology::Cable& cable, uint32_t node) const;
    const fabric::Settings& settings_of(uint32_t node) const;
    uint64_t reserved_bytes(uint32_t node) const;
    const fabric::Settings* own_settings(uint32_t node);
    std::vector<fabric::EcnSettings> marking_of(uint32_t node) const;
    uint8_t alpha_doublings(const topology::Cable& cable) const;
    void connect_ports();
    void settle_qos(const Negotiation& negotiation);
    void add_tenants();
    std::vector<uint32_t> guarded_hosts(uint32_t node) const;
    bool is_guarded(uint32_t node, uint16_t port) const;
    void add_routes();
    void write_tables();
    void write_entries(const std::vector<uint32_t>& lists);
    Instant usable_from(uint32_t cable, Instant up, Instant down_again) const;
    fabric::Routes compute_routes(const std::vector<bool>& cable_down,
                                  const std::vector<bool>& node_down) const;
    void add_changes();
    void change_port(topology::CableEnd end, Instant at, bool is_up);
    std::vector<CableChange> cable_changes() const;
    void change_cables();
    void change_hosts();
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
    topology::Ports cables_;
    std::vector<uint32_t> endpoints_;                       // node of each
    std::vector<uint32_t> endpoint_of_;                     // of each node
    std::vector<std::vector<fabric::NodeChange>> changes_;  // by node
    std::vector<std::vector<cluster::HostChange>> host_changes_;
    std::vector<fabric::EtsSettings> ets_;         // by node
    std::vector<const SwitchOverride*> switches_;  // by node; null: settings of the fabric
    base::Rate host_rate_;                         // of the first host's cable
    std::vector<uint32_t>
        groups_;  // of a dragonfly, by node; empty: there are none, or they are not needed
    std::unique_ptr<Network> network_;
};

}  // namespace tulle::sim
