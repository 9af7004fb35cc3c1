#include "topology/groups.h"

#include <algorithm>
#include <set>
#include <utility>

namespace tulle::topology {
namespace {

using Pairs = std::set<std::pair<uint32_t, uint32_t>>;

// Switches with a cable between them, the lower number first.
Pairs cabled_switches(const Graph& graph) {
    Pairs pairs;
    for (const Cable& cable : graph.cables)
        if (!graph.nodes[cable.a.node].is_host() && !graph.nodes[cable.b.node].is_host())
            pairs.insert(std::minmax(cable.a.node, cable.b.node));
    return pairs;
}

// Each switch joins the group before it if it has a cable to all of that.
std::vector<std::vector<uint32_t>> cliques(const Graph& graph, const Pairs& cabled) {
    std::vector<std::vector<uint32_t>> groups;
    for (uint32_t node = 0; node < graph.nodes.size(); ++node) {
        if (graph.nodes[node].is_host()) continue;
        const auto knows = [&](uint32_t other) { return cabled.contains({other, node}); };
        if (groups.empty() || !std::ranges::all_of(groups.back(), knows)) groups.emplace_back();
        groups.back().push_back(node);
    }
    return groups;
}

}  // namespace

std::vector<uint32_t> dragonfly_groups(const Graph& graph) {
    const Pairs cabled = cabled_switches(graph);
    const auto groups = cliques(graph, cabled);
    if (groups.size() < 3 || groups.front().size() < 2) return {};
    std::vector<uint32_t> group_of(graph.nodes.size(), kNone);
    for (uint32_t group = 0; group < groups.size(); ++group) {
        if (groups[group].size() != groups.front().size()) return {};
        for (const uint32_t node : groups[group]) group_of[node] = group;
    }
    Pairs joined;
    for (const auto& [a, b] : cabled)
        if (group_of[a] != group_of[b]) joined.insert(std::minmax(group_of[a], group_of[b]));
    if (joined.size() != groups.size() * (groups.size() - 1) / 2) return {};
    for (const Cable& cable : graph.cables) {
        if (graph.nodes[cable.a.node].is_host()) group_of[cable.a.node] = group_of[cable.b.node];
        if (graph.nodes[cable.b.node].is_host()) group_of[cable.b.node] = group_of[cable.a.node];
    }
    return group_of;
}

}  // namespace tulle::topology
