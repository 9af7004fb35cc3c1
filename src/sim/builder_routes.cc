// Routes: the first tables of switches, and how they change during the run.
#include <algorithm>
#include <map>

#include "fabric/route_writer.h"
#include "sim/builder.h"
#include "sim/control_plane.h"

namespace tulle::sim {

void Builder::add_routes() {
    if (network_->history_)
        write_tables();
    else
        network_->routes_.push_back(compute_routes({}, {}));
}

// Tables as the control plane left them when the fabric had come up, and its later writes.
void Builder::write_tables() {
    const control::History& history = *network_->history_;
    fabric::RouteWriter writer(setup_.graph, history.target_of, history.target_count);
    std::vector<uint32_t> lists;
    for (uint32_t list = 0; list < history.lists.count(); ++list)
        lists.push_back(writer.list(history.lists.ports(list)));
    const auto as_written = [&](uint32_t list) {
        return list == control::PortLists::kHere ? fabric::RouteWriter::kHere : lists[list];
    };
    for (uint32_t node = 0; node < setup_.graph.nodes.size(); ++node)
        if (!setup_.graph.nodes[node].is_host())
            for (uint32_t target = 0; target < history.target_count; ++target)
                writer.set(node, target, as_written(history.tables.at(node, target)));
    write_entries(lists);
    for (const control::HistoryOfLanes::Write& write : history.lanes.writes)
        changes_.switches[write.node].push_back(
            {.at = write.at, .kind = fabric::NodeChange::Kind::lanes, .lanes = write.map});
    make_room_for(history.management);
    for (const control::ManagementSent& sent : history.management)
        if (setup_.graph.nodes[sent.from.node].is_host())
            changes_.hosts[sent.from.node].push_back(
                {sent.at, cluster::HostChange::Kind::management, sent.bytes, {}});
        else
            changes_.switches[sent.from.node].push_back(
                {.at = sent.at,
                 .kind = fabric::NodeChange::Kind::management,
                 .port = sent.from.port,
                 .bytes = sent.bytes});
    network_->routes_.push_back(std::move(writer).finish());
}

// There may be millions of them.
void Builder::make_room_for(const std::vector<control::ManagementSent>& management) {
    std::vector<size_t> count(setup_.graph.nodes.size());
    for (const control::ManagementSent& sent : management) ++count[sent.from.node];
    for (uint32_t node = 0; node < count.size(); ++node)
        if (setup_.graph.nodes[node].is_host())
            changes_.hosts[node].reserve(count[node]);
        else
            changes_.switches[node].reserve(changes_.switches[node].size() + count[node]);
}

// All writes of a switch at one instant are one change.
void Builder::write_entries(const std::vector<uint32_t>& lists) {
    std::map<std::pair<uint32_t, Instant>, std::vector<fabric::RouteEntry>> of_node;
    for (const control::TableWrite& write : network_->history_->writes)
        of_node[{write.node, write.at}].push_back({write.target, lists[write.list]});
    for (auto& [when, entries] : of_node) {
        const auto& kept = network_->route_entries_.emplace_back(std::move(entries));
        changes_.switches[when.first].push_back(
            {.at = when.second, .kind = fabric::NodeChange::Kind::entries, .entries = kept});
    }
}

fabric::Routes Builder::compute_routes(const std::vector<bool>& cable_down,
                                       const std::vector<bool>& node_down) const {
    const fabric::RouteSettings& route = setup_.fabric.route;
    const auto spread = route.choice == fabric::PathChoice::destination
                            ? fabric::RouteSpread::by_destination
                            : fabric::RouteSpread::all;
    return fabric::Routes::compute(setup_.graph, route.kind, cable_down, node_down, spread);
}

// New tables come a while after a fault.
void Builder::add_changes() {
    add_faults(setup_, wiring_.cables(), network_->history_.get(), changes_);
    if (!network_->history_) reroute_after_delay();
    for (auto& changes : changes_.switches)
        std::ranges::stable_sort(changes, {}, &fabric::NodeChange::at);
    for (auto& changes : changes_.hosts)
        std::ranges::stable_sort(changes, {}, &cluster::HostChange::at);
}

// Tables are given: all switches get new ones at once, route.reroute_delay after the fault.
void Builder::reroute_after_delay() {
    std::vector<bool> cable_down(setup_.graph.cables.size());
    std::vector<bool> node_down(setup_.graph.nodes.size());
    for (const control::Disturbance& fault : disturbances_of(setup_)) {
        using Kind = control::Disturbance::Kind;
        if (fault.kind == Kind::cable_down || fault.kind == Kind::cable_up)
            cable_down[fault.subject] = fault.kind == Kind::cable_down;
        else
            node_down[fault.subject] = fault.kind == Kind::switch_down;
        const Instant known = fault.at + setup_.fabric.route.reroute_delay;
        network_->routes_.push_back(compute_routes(cable_down, node_down));
        for (uint32_t node = 0; node < setup_.graph.nodes.size(); ++node)
            if (!setup_.graph.nodes[node].is_host())
                changes_.switches[node].push_back({.at = known,
                                                   .kind = fabric::NodeChange::Kind::routes,
                                                   .routes = &network_->routes_.back()});
    }
}

void Builder::fix_paths() {
    const auto add = [&](const std::vector<uint32_t>& nodes) {
        std::vector<uint16_t>& ports = network_->paths_.emplace_back();
        for (size_t i = 1; i + 1 < nodes.size(); ++i) {
            const auto links = wiring_.of(nodes[i]);
            const auto leads = [&](const auto& link) {
                return link.is_cabled() && link.peer.node == nodes[i + 1];
            };
            ports.push_back(
                static_cast<uint16_t>(std::ranges::find_if(links, leads) - links.begin()));
        }
    };
    for (const ExplicitPath& path : setup_.paths) {
        add(path.data);
        add(path.acknowledgements);
    }
}

}  // namespace tulle::sim
