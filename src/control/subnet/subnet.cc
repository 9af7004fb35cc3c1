#include "control/subnet/subnet.h"

#include <algorithm>

#include "topology/text.h"

namespace tulle::control {

using topology::CableEnd;
using topology::Graph;
using topology::Node;
using topology::Ports;
using topology::text;

namespace {

bool is_down(const std::vector<bool>& cable_down, uint32_t cable) {
    return cable < cable_down.size() && cable_down[cable];
}

}  // namespace

base::Result<LidOwners> assign_lids(const Graph& graph, uint8_t lmc) {
    const Ports ports(graph);
    LidOwners owners{{kNone, 0}};
    for (uint32_t node = 0; node < graph.nodes.size(); ++node) {
        if (!graph.nodes[node].is_host()) {
            owners.push_back({node, 0});
            continue;
        }
        const auto links = ports.of(node);
        for (uint16_t port = 0; port < links.size(); ++port)
            if (links[port].is_cabled()) {
                while ((owners.size() & ((1u << lmc) - 1)) != 0) owners.push_back({kNone, 0});
                owners.insert(owners.end(), 1u << lmc, {node, port});
            }
    }
    if (owners.size() - 1 > kMaxUnicastLid)
        return base::Error{text("the fabric needs ", owners.size() - 1,
                                " LIDs; a subnet of InfiniBand has ", kMaxUnicastLid)};
    return owners;
}

std::optional<LidOwners> given_lids(const Graph& graph, std::span<const topology::GivenLid> lids) {
    const Ports ports(graph);
    LidOwners owners{{kNone, 0}};
    size_t wanted = 0;
    for (uint32_t node = 0; node < graph.nodes.size(); ++node)
        for (const Ports::Link& link : ports.of(node))
            wanted += graph.nodes[node].is_host() && link.is_cabled();
    wanted += graph.switch_count();
    for (const topology::GivenLid& given : lids) {
        const bool is_host = graph.nodes[given.owner.node].is_host();
        if (is_host && !ports.at(given.owner).is_cabled()) continue;
        const uint32_t end = given.lid + (is_host ? 1u << given.lmc : 1u);
        if (end - 1 > kMaxUnicastLid) return std::nullopt;
        if (end > owners.size()) owners.resize(end, {kNone, 0});
        for (uint32_t lid = given.lid; lid < end; ++lid) {
            if (owners[lid].node != kNone) return std::nullopt;
            owners[lid] = given.owner;
        }
        --wanted;
    }
    return wanted == 0 ? std::optional(owners) : std::nullopt;
}

base::Result<Subnet> Subnet::make(const Graph& graph, const LidOwners& owners,
                                  const std::vector<bool>& cable_down) {
    Subnet subnet;
    subnet.index_.assign(graph.nodes.size(), kNone);
    subnet.first_port_.push_back(0);
    for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
        const Node& node = graph.nodes[i];
        if (node.is_host()) continue;
        if (node.port_count > kMaxPort)
            return base::Error{text("switch ", node.name, " has ", node.port_count,
                                    " ports; in InfiniBand a switch has at most ",
                                    uint32_t{kMaxPort})};
        subnet.index_[i] = subnet.switch_count();
        subnet.nodes_.push_back(i);
        subnet.names_.push_back(node.name);
        subnet.first_port_.push_back(subnet.first_port_.back() + node.port_count + 1);
    }
    const Ports ports(graph);
    subnet.add_links(graph, cable_down);
    subnet.add_places(owners, ports, cable_down);
    return subnet;
}

void Subnet::add_links(const Graph& graph, const std::vector<bool>& cable_down) {
    const Ports ports(graph);
    link_at_.assign(first_port_.back(), kNone);
    first_link_.push_back(0);
    for (uint32_t s = 0; s < switch_count(); ++s) {
        const auto out = ports.of(nodes_[s]);
        for (uint32_t port = 0; port < out.size(); ++port) {
            if (!out[port].is_cabled() || is_down(cable_down, out[port].cable)) continue;
            const uint32_t peer = index_[out[port].peer.node];
            if (peer == kNone) continue;
            link_at_[first_port_[s] + port + 1] = link_count();
            links_.push_back({s, peer, static_cast<uint8_t>(port + 1),
                              static_cast<uint8_t>(out[port].peer.port + 1), out[port].cable});
        }
        first_link_.push_back(link_count());
    }
}

void Subnet::add_places(const LidOwners& owners, const Ports& ports,
                        const std::vector<bool>& cable_down) {
    places_.resize(owners.size());
    hosts_at_.assign(switch_count(), 0);
    std::vector<uint32_t> count(switch_count());
    for (uint32_t lid = 0; lid < owners.size(); ++lid) {
        Place& place = places_[lid];
        place.owner = owners[lid];
        if (place.owner.node == kNone) continue;
        place.home = index_[place.owner.node];
        if (place.home == kNone) {
            const Ports::Link& link = ports.at(place.owner);
            if (!link.is_cabled() || is_down(cable_down, link.cable)) continue;
            place.home = index_[link.peer.node];
            place.port = static_cast<uint8_t>(link.peer.port + 1);
        }
        if (place.home == kNone) continue;
        ++count[place.home];
        if (place.port == kSwitchItself) continue;
        if (places_[lid - 1].owner == place.owner)
            place.path = static_cast<uint8_t>(places_[lid - 1].path + 1);
        paths_ = std::max<uint8_t>(paths_, place.path + 1);
        hosts_at_[place.home] += place.path == 0;
    }
    first_lid_.push_back(0);
    for (const uint32_t here : count) first_lid_.push_back(first_lid_.back() + here);
    lids_.resize(first_lid_.back());
    std::vector<uint32_t> next(first_lid_.begin(), first_lid_.end() - 1);
    for (uint32_t lid = 0; lid < owners.size(); ++lid)
        if (places_[lid].home != kNone)
            lids_[next[places_[lid].home]++] = static_cast<uint16_t>(lid);
}

}  // namespace tulle::control
