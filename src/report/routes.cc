#include "report/routes.h"

namespace tulle::report {

Routes::Routes(const topology::Graph& graph)
    : graph_(&graph), ports_(graph), from_gate_(graph.nodes.size()) {
    for (uint32_t node = 0; node < graph.nodes.size(); ++node) gates_.push_back(find_gate(node));
}

std::vector<topology::CableEnd> Routes::path(uint32_t source, uint32_t destination) const {
    std::vector<topology::CableEnd> ends;
    uint32_t node = source;
    while (node != destination) {
        const std::vector<uint16_t> next = next_ports(node, destination);
        if (next.empty()) return {};
        ends.push_back({node, next.front()});
        node = ports_.at(ends.back()).peer.node;
    }
    return ends;
}

bool Routes::may_cross(uint32_t source, uint32_t destination, topology::CableEnd port) const {
    const topology::Ports::Link& link = ports_.at(port);
    if (!link.is_cabled()) return false;
    const uint32_t before = distance(port.node, source);
    const uint32_t behind = distance(link.peer.node, destination);
    if (before == kFar || behind == kFar) return false;
    return before + 1 + behind == distance(source, destination);
}

std::vector<uint16_t> Routes::next_ports(uint32_t node, uint32_t destination) const {
    std::vector<uint16_t> next;
    const uint32_t here = distance(node, destination);
    if (here == kFar || here == 0) return next;
    const auto links = ports_.of(node);
    for (uint16_t port = 0; port < links.size(); ++port) {
        if (!links[port].is_cabled()) continue;
        const uint32_t peer = links[port].peer.node;
        if (graph_->nodes[peer].is_host() && peer != destination) continue;
        if (distance(peer, destination) + 1 == here) next.push_back(port);
    }
    return next;
}

// The switch of a host with one cable; a host with several, or on a host, is its own gate.
uint32_t Routes::find_gate(uint32_t host) const {
    uint32_t gate = host;
    if (!graph_->nodes[host].is_host()) return host;
    for (const topology::Ports::Link& link : ports_.of(host)) {
        if (!link.is_cabled()) continue;
        if (gate != host || graph_->nodes[link.peer.node].is_host()) return host;
        gate = link.peer.node;
    }
    return gate;
}

uint32_t Routes::distance(uint32_t node, uint32_t host) const {
    if (node == host) return 0;
    const uint32_t gate = gate_of(host);
    const uint32_t to_gate = distances(gate)[node];
    return to_gate == kFar || gate == host ? to_gate : to_gate + 1;
}

// A search in which hosts are only end points: they do not forward.
const std::vector<uint32_t>& Routes::distances(uint32_t gate) const {
    std::vector<uint32_t>& far = from_gate_[gate];
    if (!far.empty()) return far;
    far.assign(graph_->nodes.size(), kFar);
    far[gate] = 0;
    std::vector<uint32_t> open{gate};
    for (size_t i = 0; i < open.size(); ++i) {
        const uint32_t node = open[i];
        if (graph_->nodes[node].is_host() && node != gate) continue;
        for (const topology::Ports::Link& link : ports_.of(node))
            if (link.is_cabled() && far[link.peer.node] == kFar) {
                far[link.peer.node] = far[node] + 1;
                open.push_back(link.peer.node);
            }
    }
    return far;
}

}  // namespace tulle::report
