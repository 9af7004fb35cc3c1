#include "sim/partitioning.h"

#include <algorithm>

namespace tulle::sim {

std::vector<uint32_t> partition_of_nodes(const topology::Graph& graph,
                                         const topology::Ports& cables,
                                         const std::vector<uint32_t>& home, size_t partitions) {
    constexpr uint32_t kNowhere = UINT32_MAX;
    const auto& nodes = graph.nodes;
    const std::vector<uint32_t> endpoints = graph.endpoints();
    std::vector<uint32_t> where(nodes.size(), kNowhere);
    std::vector<uint32_t> layer;
    for (uint32_t i = 0; i < endpoints.size(); ++i) {
        where[endpoints[i]] =
            !home.empty() ? home[i]
                          : static_cast<uint32_t>(uint64_t{i} * partitions / endpoints.size());
        layer.push_back(endpoints[i]);
    }
    std::vector<uint64_t> ports(partitions);
    while (!layer.empty()) {
        std::vector<uint32_t> next;
        for (const uint32_t node : layer)
            for (const auto& link : cables.of(node))
                if (link.is_cabled() && where[link.peer.node] == kNowhere)
                    next.push_back(link.peer.node);
        std::ranges::sort(next);
        next.erase(std::unique(next.begin(), next.end()), next.end());
        for (const uint32_t node : next) {
            std::vector<uint64_t> neighbours(partitions);
            for (const auto& link : cables.of(node))
                if (link.is_cabled() && where[link.peer.node] != kNowhere)
                    ++neighbours[where[link.peer.node]];
            uint32_t best = 0;
            for (uint32_t p = 1; p < partitions; ++p)
                if (neighbours[p] > neighbours[best] ||
                    (neighbours[p] == neighbours[best] && ports[p] < ports[best]))
                    best = p;
            where[node] = best;
            ports[best] += nodes[node].port_count;
        }
        layer = std::move(next);
    }
    return where;
}

}  // namespace tulle::sim
