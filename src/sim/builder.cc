#include "sim/builder.h"

#include <algorithm>

#include "sim/connector.h"
#include "sim/control_plane.h"
#include "sim/partitioning.h"
#include "sim/setup_check.h"
#include "topology/groups.h"

namespace tulle::sim {
namespace {

using topology::Cable;
using topology::Node;

}  // namespace

Builder::Builder(const Setup& setup, size_t partitions, const Share& share)
    : setup_(setup), partition_count_(partitions), share_(share), wiring_(setup) {}

base::Result<std::unique_ptr<Network>> Builder::build() {
    if (auto error = find_wrong(setup_, wiring_)) return *error;
    endpoints_ = setup_.graph.endpoints();
    endpoint_of_.assign(setup_.graph.nodes.size(), topology::kNone);
    for (uint32_t i = 0; i < endpoints_.size(); ++i) endpoint_of_[endpoints_[i]] = i;
    const fabric::RouteSettings& route = setup_.fabric.route;
    if (route.choice == fabric::PathChoice::ugal || route.group_lanes)
        groups_ = topology::dragonfly_groups(setup_.graph);

    auto history = run_control(setup_);
    if (!history) return history.error();
    network_.reset(new Network(setup_));
    network_->history_ = *history;
    network_->traces_.resize(partition_count_);
    if (!groups_.empty())
        for (const uint32_t node : endpoints_)
            network_->group_of_endpoint_.push_back(groups_[node]);
    network_->groups_.resize(setup_.graph.nodes.size());
    changes_.switches.resize(setup_.graph.nodes.size());
    changes_.hosts.resize(setup_.graph.nodes.size());
    ets_.assign(setup_.graph.nodes.size(), setup_.fabric.ets);
    for (const QosOverride& qos : setup_.qos) ets_[qos.node] = qos.ets;
    add_tenants();
    add_routes();
    add_changes();
    fix_paths();
    const Negotiation negotiation(setup_);
    add_nodes(negotiation);
    connect_ports();
    settle_qos(negotiation);
    add_work();
    for (auto& partition : network_->partitions_) partition->begin();
    return std::move(network_);
}

// Cables.

fabric::Port Builder::port_of(uint32_t node, uint16_t number) const {
    const topology::Ports::Link link = wiring_.at(node, number);
    const fabric::Settings& f = setup_.fabric;
    fabric::Port port(wiring_.line_rate(node, number));
    if (!link.is_cabled()) {
        port.is_up = false;
        port.cable = topology::kNone;
        return port;
    }
    const Cable& cable = setup_.graph.cables[link.cable];
    const Node& peer = setup_.graph.nodes[link.peer.node];
    port.delay = wiring_.delay_of(cable);
    port.cable = link.cable;
    port.is_a = cable.a == topology::CableEnd{node, number};
    port.is_host = setup_.graph.nodes[node].is_host();
    const fabric::SwitchSettings& there = wiring_.settings_of(link.peer.node).node;
    port.arrival_delay = port.delay + (peer.is_host() ? Duration{} : there.latency);
    port.peer_cuts_through = !peer.is_host() && there.forwarding == fabric::Forwarding::cut_through;
    port.whole_nanoseconds = f.link.whole_nanoseconds;
    port.is_watched = share_.is_explained;
    if (share_.is_explained && !share_.first->was_held.empty()) {
        port.spends_credits = share_.first->was_held[fabric::place_of(link.cable, port.is_a)];
        port.peer_needs_credits = share_.first->was_held[fabric::place_of(link.cable, !port.is_a)];
    }
    port.is_guarded = is_guarded(node, number);
    port.leads_to_host = !port.is_host && peer.is_host();
    port.headroom_bytes = wiring_.headroom_of(cable, node);
    if (wiring_.settings_of(node).node.alpha_by_rate)
        port.alpha_doublings = wiring_.alpha_doublings(cable);
    port.is_tapped =
        std::ranges::any_of(setup_.taps, [&](const Tap& tap) { return tap.cable == link.cable; });
    // A ring's dateline is the cable that closes it: from the last switch to the first.
    port.raises_lane = f.route.group_lanes && !port.is_host && crosses_groups(cable);
    port.maps_lanes = has_lanes() && !setup_.graph.nodes[node].is_host();
    port.offers_detours = f.route.choice == fabric::PathChoice::ugal && !groups_.empty() &&
                          !port.is_host && !crosses_groups(cable);
    port.is_behind_dateline = f.route.dateline_lanes &&
                              std::min(node, link.peer.node) == wiring_.first_switch() &&
                              std::max(node, link.peer.node) == setup_.graph.nodes.size() - 1;
    return port;
}

const fabric::Settings* Builder::own_settings(uint32_t node) {
    if (!wiring_.settings_of(node).node.buffer_holds_all)
        return wiring_.has_own_settings(node) ? &wiring_.settings_of(node) : nullptr;
    fabric::Settings own = wiring_.settings_of(node);
    own.node.buffer_bytes = wiring_.shared_bytes(node);
    return &network_->switch_settings_.emplace_back(own);
}

// Nodes.

uint32_t Builder::lanes_needed() const {
    const fabric::Settings& f = setup_.fabric;
    if (has_lanes()) return network_->lanes()->count;
    uint32_t highest = f.route.dateline_lanes ? 1 : 0;
    const auto use = [&](uint8_t level, uint8_t traffic_class) {
        const uint8_t lane = lane_of_level()[level_of(setup_.fabric, level, traffic_class) & 0xf];
        highest = std::max<uint32_t>(highest, lane);
    };
    for (const Flow& flow : setup_.flows) use(flow.service_level, flow.traffic_class);
    if (share_.connections != nullptr)
        for (const Connection& connection : *share_.connections)
            use(connection.service_level, connection.traffic_class);
    if (share_.opened_later != nullptr)
        for (const Connection& connection : *share_.opened_later)
            use(connection.service_level, connection.traffic_class);
    if (f.marking != fabric::Marking::none || setup_.host.answers_apart ||
        setup_.host.receiver_credit() != nullptr)
        use(setup_.host.notifications.service_level, setup_.host.notifications.traffic_class);
    if (f.overflow == fabric::Overflow::trim)
        highest = std::max<uint32_t>(highest, f.qos.trimmed_lane);
    if (f.back_pressure.above_bytes != 0)
        highest = std::max<uint32_t>(highest, f.back_pressure.lane);
    // A shortest path crosses between groups at most twice, a detour once more.
    if (f.route.group_lanes && !groups_.empty())
        highest = std::max(highest, std::min(highest + 3, fabric::kManagementLane - 1));
    return highest + 1;
}

void Builder::add_nodes(const Negotiation& negotiation) {
    const std::vector<uint32_t> where =
        partition_of_nodes(setup_.graph, wiring_.cables(), share_.home, partition_count_);
    lanes_ = lanes_needed();
    for (size_t p = 0; p < partition_count_; ++p)
        network_->partitions_.push_back(std::make_unique<cluster::Partition>(
            setup_.fabric, lanes_, partition_count_, share_.window, share_.memory));
    if (share_.is_explained)
        for (auto& partition : network_->partitions_)
            partition->keep_journal(share_.notes_crossings, share_.first->follows_few);
    if (network_->history_)
        for (auto& partition : network_->partitions_)
            for (const control::Repair& repair : network_->history_->repairs)
                partition->cabling().losses.add(repair.cause.at);
    std::vector<size_t> ports(partition_count_);
    for (uint32_t node = 0; node < setup_.graph.nodes.size(); ++node)
        ports[where[node]] += setup_.graph.nodes[node].port_count;
    for (size_t p = 0; p < partition_count_; ++p)
        network_->partitions_[p]->cabling().reserve(ports[p]);
    for (uint32_t node = 0; node < setup_.graph.nodes.size(); ++node) {
        cluster::Partition& partition = *network_->partitions_[where[node]];
        const uint32_t place = partition.next_place();
        const auto first = static_cast<uint32_t>(partition.cabling().ports());
        for (uint16_t port = 0; port < setup_.graph.nodes[node].port_count; ++port)
            partition.cabling().add_port(port_of(node, port), wiring_.line_rate(node, port),
                                         wiring_.errors_of(node, port), place);
        Network::Location location{where[node], 0, first};
        if (setup_.graph.nodes[node].is_host()) {
            location.place = static_cast<uint32_t>(partition.hosts().size());
            cluster::HostPlan plan = host_plan(node, first);
            if (setup_.trace) plan.trace = &network_->traces_[where[node]];
            partition.add_host(std::move(plan), adapter_config(node));
        } else {
            location.place = static_cast<uint32_t>(partition.switches().size());
            fabric::SwitchPlan plan = switch_plan(node, first);
            plan.port_ets = negotiation.ets_of(node, wiring_.cables());
            if (setup_.trace) plan.trace = &network_->traces_[where[node]];
            partition.add_switch(std::move(plan));
        }
        network_->locations_.push_back(location);
        if (setup_.graph.nodes[node].is_host()) network_->hosts_.push_back(location);
    }
}

fabric::Port& Builder::port_at(uint32_t node, uint16_t port) {
    const Network::Location& location = network_->locations_[node];
    return network_->partitions_[location.partition]->cabling().port(location.first_port + port);
}

void Builder::connect_ports() {
    for (uint32_t node = 0; node < setup_.graph.nodes.size(); ++node)
        for (uint16_t p = 0; p < setup_.graph.nodes[node].port_count; ++p) {
            const topology::Ports::Link link = wiring_.at(node, p);
            if (!link.is_cabled()) continue;
            const Network::Location& there = network_->locations_[link.peer.node];
            fabric::Port& port = port_at(node, p);
            port.peer = there.first_port + link.peer.port;
            port.peer_partition = static_cast<uint16_t>(there.partition);
            port.peer_is_elsewhere = there.partition != network_->locations_[node].partition;
            port.settle();
        }
}

// Priorities that no flow uses have no lane, and are never paused.
void Builder::settle_qos(const Negotiation& negotiation) {
    const auto used = static_cast<uint16_t>((1u << lanes_) - 1);
    for (uint32_t c = 0; c < setup_.graph.cables.size(); ++c)
        for (const bool is_a : {true, false}) {
            const topology::CableEnd end =
                is_a ? setup_.graph.cables[c].a : setup_.graph.cables[c].b;
            fabric::Port& port = port_at(end.node, end.port);
            port.lossless = port.honours_pause = negotiation.priorities(c, is_a) & used;
        }
    network_->disagreements_ = negotiation.disagreements();
}

fabric::SwitchPlan Builder::switch_plan(uint32_t node, uint32_t first_port) {
    fabric::SwitchPlan plan;
    plan.node = node;
    plan.first_port = first_port;
    plan.port_count = setup_.graph.nodes[node].port_count;
    plan.seed = setup_.seed;
    plan.routes = &network_->routes_.front();
    plan.paths = &network_->paths_;
    plan.groups = &network_->groups_[node];
    plan.ets = ets_[node];
    plan.settings = own_settings(node);
    plan.never_marks =
        share_.is_explained && !share_.first->has_marked.empty() && !share_.first->has_marked[node];
    plan.ecn = wiring_.marking_of(node);
    plan.changes = std::move(changes_.switches[node]);
    if (has_lanes()) plan.lanes = network_->lanes()->maps[node];
    plan.tenancy = network_->tenancy();
    if (plan.tenancy != nullptr) plan.hosts = guarded_hosts(node);
    if (setup_.fabric.route.choice == fabric::PathChoice::ugal && !groups_.empty())
        plan.dragonfly = group_plan(node);
    if (setup_.fabric.route.warn_above_bytes != 0)
        for (const topology::Ports::Link& link : wiring_.of(node))
            plan.neighbours.push_back(link.is_cabled() ? link.peer.node : node);
    return plan;
}

bool Builder::crosses_groups(const Cable& cable) const {
    return !groups_.empty() && groups_[cable.a.node] != groups_[cable.b.node];
}

fabric::GroupPlan Builder::group_plan(uint32_t node) const {
    fabric::GroupPlan plan;
    plan.group = groups_[node];
    plan.of_endpoint = &network_->group_of_endpoint_;
    for (uint16_t port = 0; port < setup_.graph.nodes[node].port_count; ++port)
        if (const auto link = wiring_.at(node, port);
            link.is_cabled() && groups_[link.peer.node] != plan.group)
            plan.ways.push_back({port, groups_[link.peer.node]});
    return plan;
}

// Tenants.

void Builder::add_tenants() {
    if (setup_.tenants.empty()) return;
    constexpr uint16_t kDefaultVlan = 1;
    using Means = fabric::Tenancy::Means;
    const bool has_keys = wire::is_infiniband(setup_.fabric.framing.encapsulation);
    fabric::Tenancy& tenancy =
        network_->tenancy_.emplace(has_keys ? Means::partitions : Means::vlans, endpoints_.size());
    for (const Tenant& tenant : setup_.tenants) {
        const uint16_t number = has_keys ? tenant.pkey : tenant.vlan;
        for (const uint32_t endpoint : tenant.full)
            tenancy.add(endpoint, {static_cast<uint16_t>(number | wire::kFullMember)});
        for (const uint32_t endpoint : tenant.limited) tenancy.add(endpoint, {number});
    }
    tenancy.set_default(has_keys
                            ? wire::kDefaultPKey
                            : wire::PKey{static_cast<uint16_t>(kDefaultVlan | wire::kFullMember)});
}

// By port of a switch: the host there whose tenants the port checks, or none. Empty: the switch
// checks nothing.
std::vector<uint32_t> Builder::guarded_hosts(uint32_t node) const {
    const bool by_key = network_->tenancy_->means() == fabric::Tenancy::Means::partitions;
    if (by_key && !wiring_.settings_of(node).node.enforces_partitions) return {};
    std::vector<uint32_t> hosts;
    bool is_any = false;
    for (const topology::Ports::Link& link : wiring_.of(node)) {
        const bool is_host = link.is_cabled() && setup_.graph.nodes[link.peer.node].is_host();
        hosts.push_back(is_host ? endpoint_of_[link.peer.node] : fabric::TenantGuard::kNoHost);
        is_any |= is_host;
    }
    if (!is_any) hosts.clear();
    return hosts;
}

// Ethernet checks packets that come from a host; InfiniBand also packets to a host, from any port.
bool Builder::is_guarded(uint32_t node, uint16_t port) const {
    if (!network_->tenancy_ || setup_.graph.nodes[node].is_host()) return false;
    const std::vector<uint32_t> hosts = guarded_hosts(node);
    if (hosts.empty()) return false;
    return network_->tenancy_->means() == fabric::Tenancy::Means::partitions ||
           hosts[port] != fabric::TenantGuard::kNoHost;
}

cluster::HostPlan Builder::host_plan(uint32_t node, uint32_t port) {
    const HostSettings& host = setup_.host_of(node);
    cluster::HostPlan plan;
    plan.node = node;
    plan.port = port;
    plan.receive_buffer_bytes = host.receive_buffer_bytes;
    plan.send_latency = host.send_latency;
    plan.receive_latency = host.receive_latency;
    plan.mtu = host.mtu;
    const bool has_groups = share_.groups != nullptr && !share_.groups->empty();
    plan.completes_when_sent = setup_.host.service == Service::unreliable || has_groups;
    plan.answers_pass_pauses = setup_.host.answers_pass_pauses;
    plan.has_window = setup_.host.window_packets != 0;
    plan.send_toll = {host.send_toll.per_packet, host.send_toll.rate};
    plan.receive_toll = {host.receive_toll.per_packet, host.receive_toll.rate};
    plan.changes = std::move(changes_.hosts[node]);
    plan.has_tenants = network_->tenancy_.has_value();
    if (has_lanes()) plan.lane_of_level = &network_->lanes()->of_hosts;
    return plan;
}

transport::AdapterConfig Builder::adapter_config(uint32_t node) const {
    const fabric::Settings& f = setup_.fabric;
    transport::AdapterConfig adapter;
    adapter.endpoint = {endpoint_of_[node]};
    adapter.seed = setup_.seed;
    adapter.memory = setup_.host_of(node).memory;
    adapter.loss = setup_.host.loss;
    adapter.ack_every = setup_.host.ack_every;
    adapter.reorder_tolerance = setup_.host.reorder_tolerance;
    adapter.reorder_packets = setup_.host.reorder_packets;
    adapter.short_ways = setup_.host.short_ways;
    adapter.delivery = setup_.host.delivery;
    adapter.paths = setup_.host.paths;
    adapter.timeouts = setup_.host.timeouts;
    adapter.receiver_credit = setup_.host_of(node).receiver_credit();
    adapter.answers_apart = setup_.host.answers_apart;
    adapter.coalesces_acks = setup_.host.coalesce_acks;
    // Receives of a connection are reposted at once, so senders need not wait for credits.
    const auto has = [](const auto* list) { return list != nullptr && !list->empty(); };
    adapter.grants_credits = !has(share_.connections) && !has(share_.opened_later);
    if (setup_.host.window_packets != 0)
        adapter.max_packets_outstanding = setup_.host.window_packets;
    adapter.envelope_bytes = cluster::Framing(f).adapter_envelope();
    adapter.max_payload = std::max(adapter.max_payload, setup_.host.mtu);
    adapter.lane_of_level = lane_of_level();
    adapter.notifications = setup_.host.notifications;
    adapter.notifications.service_level =
        level_of(f, adapter.notifications.service_level, adapter.notifications.traffic_class);
    return adapter;
}

// An adapter derives the lane of a packet from its service level. Where switches trust the DSCP
// instead, the level is the lane.
std::array<uint8_t, 16> Builder::lane_of_level() const {
    if (has_lanes()) return network_->lanes()->of_hosts;
    if (setup_.fabric.qos.trust != fabric::Trust::dscp) return setup_.fabric.qos.lane_of_level;
    return transport::AdapterConfig{}.lane_of_level;
}

// Work.

cluster::HostNode& Builder::host(uint32_t endpoint) {
    const Network::Location& location = network_->hosts_[endpoint];
    return network_->partitions_[location.partition]->hosts()[location.place];
}

void Builder::add_work() {
    const Connector connector(
        setup_, network_->tenancy(), network_->lanes(),
        [this](uint32_t endpoint) -> cluster::HostNode& { return host(endpoint); });
    for (uint32_t i = 0; i < setup_.flows.size(); ++i) {
        const transport::Qpn qpn = connector.add_flow(i);
        if (share_.is_explained) network_->flow_qpns_.push_back(qpn);
    }
    if (share_.groups != nullptr)
        for (SwitchGroup& group : *share_.groups) add_group(connector, group);
    if (share_.connections == nullptr) return;
    for (Connection& connection : *share_.connections) {
        if (connection.group == topology::kNone)
            connector.connect(connection);
        else
            join(connector, connection);
    }
}

void Builder::add_group(const Connector& connector, SwitchGroup& group) {
    if (group.tree == nullptr)
        return connector.add_group(group, network_->groups_[switch_of(group.members.front())]);
    connector.add_tree(
        group, [&](uint32_t node) -> fabric::Groups& { return network_->groups_[node]; },
        [&](uint32_t endpoint) { return switch_of(endpoint); });
}

// In a tree each host knows the switch to which it is attached.
void Builder::join(const Connector& connector, Connection& connection) const {
    SwitchGroup& group = (*share_.groups)[connection.group];
    if (group.tree != nullptr) group.address = group.address_at.at(switch_of(connection.source));
    connector.join(connection, group);
}

uint32_t Builder::switch_of(uint32_t endpoint) const {
    return wiring_.at(endpoints_[endpoint], 0).peer.node;
}

base::Result<std::unique_ptr<Network>> Network::build(const Setup& setup, size_t partitions,
                                                      const Share& share) {
    return Builder(setup, partitions, share).build();
}

}  // namespace tulle::sim
