#include <algorithm>

#include "topology/builders.h"
#include "topology/parts.h"
#include "topology/text.h"

namespace tulle::topology {
namespace {

// Connects each leaf to each spine, leaf by leaf, so that uplinks of a leaf are in the order of
// spines.
void connect_tiers(Graph& graph, uint32_t leaf, uint32_t leaves, uint32_t spine, uint32_t spines,
                   uint32_t cables) {
    for (uint32_t i = 0; i < leaves; ++i)
        for (uint32_t j = 0; j < spines; ++j)
            for (uint32_t n = 0; n < cables; ++n) graph.connect(leaf + i, spine + j);
}

uint64_t largest_switch(uint64_t leaves, uint64_t spines, uint64_t hosts, uint64_t cables) {
    return std::max(plus(hosts, times(spines, cables)), times(leaves, cables));
}

}  // namespace

base::Result<Graph> build(const LeafSpine& options) {
    const auto& [leaves, spines, hosts, cables] = options;
    const Size size{times(leaves, hosts), plus(leaves, spines),
                    plus(times(leaves, hosts), times(leaves, spines, cables)),
                    largest_switch(leaves, spines, hosts, cables)};
    if (auto error = check_size("a leaf-spine fabric", size)) return *error;
    if (leaves > 1 && (spines == 0 || cables == 0))
        return base::Error{
            "leaves that no spine joins are no fabric; write spines=1 or more, "
            "and cables=1 or more"};

    Graph graph;
    const uint32_t host = add_hosts(graph, leaves * hosts);
    const uint32_t leaf = add_switches(graph, leaves, "leaf", kLeafTier);
    const uint32_t spine = add_switches(graph, spines, "spine", kSpineTier);
    attach_hosts(graph, host, leaf, leaves, hosts);
    connect_tiers(graph, leaf, leaves, spine, spines, cables);
    return graph;
}

base::Result<Graph> build(const RailOptimised& options) {
    const auto& [servers, rails, asked_group, asked_spines, cables, storage] = options;
    const uint32_t group = asked_group == 0 ? servers : asked_group;
    if (group == 0 || servers % group != 0)
        return base::Error{text("group=", group, " does not divide servers=", servers)};
    const uint32_t spines = asked_spines == 0 ? group : asked_spines;
    const uint64_t leaves = times(servers / group, rails);
    const uint64_t gpus = times(servers, rails);
    const uint64_t hosts = gpus == 0 ? 0 : plus(gpus, storage);
    const uint64_t most_on_leaf = plus(group, leaves == 0 ? 0 : storage / leaves + 1);
    const Size size{hosts, plus(leaves, spines), plus(hosts, times(leaves, spines, cables)),
                    largest_switch(leaves, spines, most_on_leaf, cables)};
    if (auto error = check_size("a rail-optimised fabric", size)) return *error;
    if (rails > kMaxPorts) return base::Error{text("rails=", rails, " is too many")};
    if (leaves > 1 && cables == 0)
        return base::Error{"cables=0 leaves the rails apart; write cables=1 or more"};

    Graph graph;
    for (uint32_t server = 0; server < servers; ++server)
        for (uint32_t rail = 0; rail < rails; ++rail) {
            Node node;
            node.name = text("s", server, "r", rail);
            node.server = server;
            node.rail = static_cast<uint16_t>(rail);
            graph.add(std::move(node));
        }
    for (uint32_t i = 0; i < storage; ++i) {
        Node node;
        node.name = text("storage", i);
        node.server = servers + i;
        graph.add(std::move(node));
    }
    const auto leaf_count = static_cast<uint32_t>(leaves);
    const uint32_t leaf = add_switches(graph, leaf_count, "leaf", kLeafTier);
    const uint32_t spine = add_switches(graph, spines, "spine", kSpineTier);
    for (uint32_t i = 0; i < servers * rails; ++i)
        graph.connect(i, leaf + i / rails / group * rails + i % rails);
    for (uint32_t i = 0; i < storage; ++i)
        graph.connect(servers * rails + i,
                      leaf + static_cast<uint32_t>(uint64_t{i} * leaf_count / storage));
    connect_tiers(graph, leaf, leaf_count, spine, spines, cables);
    return graph;
}

}  // namespace tulle::topology
