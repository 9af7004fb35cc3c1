#include "topology/summary.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "topology/max_flow.h"

namespace tulle::topology {
namespace {

// Above this many steps a search over all pairs takes too long for interactive use.
constexpr uint64_t kMostSteps = 4'000'000'000;

uint32_t farthest_host(const Graph& graph, const Ports& ports, uint32_t start,
                       std::vector<uint32_t>& queue, std::vector<uint32_t>& distance) {
    distance.assign(graph.nodes.size(), kNone);
    distance[start] = 0;
    queue.assign(1, start);
    uint32_t farthest = 0;
    for (size_t i = 0; i < queue.size(); ++i) {
        const uint32_t node = queue[i];
        if (graph.nodes[node].is_host()) farthest = distance[node];
        if (graph.nodes[node].is_host() && node != start) continue;
        for (const Ports::Link& link : ports.of(node))
            if (link.is_cabled() && distance[link.peer.node] == kNone) {
                distance[link.peer.node] = distance[node] + 1;
                queue.push_back(link.peer.node);
            }
    }
    return farthest;
}

// Hosts with the same neighbours are equally far from all others, so one of them is enough.
std::optional<uint32_t> diameter_of(const Graph& graph) {
    const Ports ports(graph);
    std::set<std::vector<uint32_t>> seen;
    std::vector<uint32_t> starts;
    for (const uint32_t host : graph.endpoints()) {
        std::vector<uint32_t> beside;
        for (const Ports::Link& link : ports.of(host))
            if (link.is_cabled()) beside.push_back(link.peer.node);
        if (seen.insert(beside).second) starts.push_back(host);
    }
    if (starts.size() * (2 * graph.cables.size() + graph.nodes.size()) > kMostSteps)
        return std::nullopt;
    uint32_t diameter = 0;
    std::vector<uint32_t> queue;
    std::vector<uint32_t> distance;
    for (const uint32_t start : starts)
        diameter = std::max(diameter, farthest_host(graph, ports, start, queue, distance));
    return diameter;
}

struct Cut {
    uint64_t capacity = 0;
    uint64_t offered = 0;  // rate of the hosts in the weaker half
};

// The hosts of a half are merged into one node, and parallel cables into one edge.
template <class Capacity>
Cut cut_between_halves(const Graph& graph, Capacity&& capacity) {
    const size_t half = graph.host_count() / 2;
    std::vector<uint32_t> place;
    uint32_t next = 2;
    size_t hosts = 0;
    for (const Node& node : graph.nodes)
        place.push_back(node.is_host() ? (hosts++ < half ? 0 : 1) : next++);
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> edges;
    uint64_t offered[2] = {};
    for (const Cable& cable : graph.cables) {
        const auto [low, high] = std::minmax(place[cable.a.node], place[cable.b.node]);
        for (const CableEnd end : {cable.a, cable.b})
            if (graph.nodes[end.node].is_host()) offered[place[end.node]] += capacity(cable);
        if (low != high) edges[{low, high}] += capacity(cable);
    }
    MaxFlow flow(next);
    for (const auto& [ends, both_ways] : edges) flow.connect(ends.first, ends.second, both_ways);
    return {flow.between(0, 1), std::min(offered[0], offered[1])};
}

}  // namespace

Summary summarise(const Graph& graph) {
    Summary summary;
    std::set<uint32_t> servers;
    for (const Node& node : graph.nodes) {
        if (node.is_host()) {
            ++summary.hosts;
            servers.insert(node.server);
            continue;
        }
        ++summary.switches;
        const size_t tier = std::max<size_t>(node.tier, 1);
        if (summary.switches_of_tier.size() < tier) summary.switches_of_tier.resize(tier);
        ++summary.switches_of_tier[tier - 1];
    }
    summary.servers = servers.size();
    summary.cables = graph.cables.size();
    bool has_rates = true;
    for (const Cable& cable : graph.cables) {
        summary.host_cables +=
            graph.nodes[cable.a.node].is_host() || graph.nodes[cable.b.node].is_host();
        has_rates = has_rates && cable.rate_bps != 0;
    }
    summary.diameter = diameter_of(graph);
    Cut cut = cut_between_halves(graph, [](const Cable&) { return uint64_t{1}; });
    summary.bisection_cables = cut.capacity;
    if (has_rates) {
        cut = cut_between_halves(graph, [](const Cable& cable) { return cable.rate_bps; });
        summary.bisection_bps = cut.capacity;
    }
    if (const uint64_t common = std::gcd(cut.offered, cut.capacity);
        cut.offered > 0 && cut.capacity > 0) {
        summary.oversubscription_numerator = cut.offered / common;
        summary.oversubscription_denominator = cut.capacity / common;
    }
    return summary;
}

}  // namespace tulle::topology
