#include "control/distributed/autonomous_systems.h"

#include <algorithm>
#include <numeric>

#include "control/adaptive_groups.h"

namespace tulle::control {
namespace {

using topology::Graph;

constexpr uint32_t kFirstPrivate = 4'200'000'000;  // RFC 6996: private numbers of four bytes

// By node: the first node of its connected piece, over cables up to this tier.
std::vector<uint32_t> pieces_up_to(const Graph& graph, uint8_t tier) {
    std::vector<uint32_t> first(graph.nodes.size());
    std::iota(first.begin(), first.end(), 0);
    const auto root = [&](uint32_t node) {
        while (first[node] != node) node = first[node] = first[first[node]];
        return node;
    };
    for (const topology::Cable& cable : graph.cables) {
        if (std::max(graph.nodes[cable.a.node].tier, graph.nodes[cable.b.node].tier) > tier)
            continue;
        const uint32_t a = root(cable.a.node);
        const uint32_t b = root(cable.b.node);
        first[std::max(a, b)] = std::min(a, b);
    }
    for (uint32_t node = 0; node < first.size(); ++node) first[node] = root(node);
    return first;
}

}  // namespace

std::vector<uint32_t> autonomous_systems(const Graph& graph, SystemScheme scheme) {
    std::vector<uint32_t> systems(graph.nodes.size());
    for (uint32_t node = 0; node < systems.size(); ++node) systems[node] = kFirstPrivate + node;
    if (scheme == SystemScheme::by_switch || !has_tiers(graph)) return systems;
    const uint8_t highest = std::ranges::max_element(graph.nodes, {}, &topology::Node::tier)->tier;
    const auto count = static_cast<uint32_t>(graph.nodes.size());
    for (uint8_t tier = topology::kLeafTier; tier <= highest; ++tier) {
        const std::vector<uint32_t> pieces = pieces_up_to(graph, tier);
        for (uint32_t node = 0; node < count; ++node)
            if (graph.nodes[node].tier == tier)
                systems[node] = kFirstPrivate + count * tier + pieces[node];
    }
    return systems;
}

}  // namespace tulle::control
