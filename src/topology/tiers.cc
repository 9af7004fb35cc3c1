#include "topology/tiers.h"

#include <algorithm>
#include <array>

#include "topology/text.h"

namespace tulle::topology {
namespace {

constexpr uint8_t kHighestTier = 255;

std::string_view tier_name(uint8_t tier) {
    switch (tier) {
        case kLeafTier: return "leaf";
        case kSpineTier: return "spine";
        case kCoreTier: return "core";
        default: return {};
    }
}

}  // namespace

void assign_tiers(Graph& graph) {
    const Ports ports(graph);
    std::vector<uint32_t> queue = graph.endpoints();
    for (Node& node : graph.nodes) node.tier = node.is_host() ? kHostTier : kHighestTier;
    for (size_t i = 0; i < queue.size(); ++i) {
        const uint8_t tier = graph.nodes[queue[i]].tier;
        for (const Ports::Link& link : ports.of(queue[i])) {
            if (!link.is_cabled() || tier + 1 >= kHighestTier) continue;
            Node& peer = graph.nodes[link.peer.node];
            if (peer.tier != kHighestTier) continue;
            peer.tier = static_cast<uint8_t>(tier + 1);
            queue.push_back(link.peer.node);
        }
    }
}

void assign_names(Graph& graph) {
    const bool has_tiers = std::any_of(graph.nodes.begin(), graph.nodes.end(),
                                       [](const Node& node) { return node.tier > kLeafTier; });
    std::array<uint32_t, kHighestTier + 1> count{};
    for (Node& node : graph.nodes) {
        const uint32_t number = count[node.tier]++;
        const std::string_view name = tier_name(node.tier);
        if (node.is_host())
            node.name = text("h", number);
        else if (!has_tiers)
            node.name = text("switch", number);
        else if (name.empty())
            node.name = text("tier", uint32_t{node.tier}, "-", number);
        else
            node.name = text(name, number);
    }
}

}  // namespace tulle::topology
