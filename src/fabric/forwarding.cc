#include "fabric/forwarding.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace tulle::fabric {

using topology::Cable;
using topology::Graph;
using topology::kLeafTier;
using topology::Node;
using topology::Ports;

class DestinationPicker {
public:
    explicit DestinationPicker(const Graph& graph)
        : graph_(graph), ports_(graph), endpoints_(graph.endpoints()) {
        picks_.endpoint_count_ = static_cast<uint32_t>(endpoints_.size());
        picks_.rows_.resize(graph.nodes.size());
    }

    // A row for each tier: the destination's number without the digits of the tiers below.
    DestinationPicks by_digits() && {
        const std::vector<uint32_t> numbers = tree_numbers();
        uint32_t divisor = 1;
        uint32_t row = 0;
        for (uint8_t tier = kLeafTier; tier <= highest_tier(); ++tier, ++row) {
            for (const uint32_t number : numbers) picks_.picks_.push_back(number / divisor);
            for (uint32_t node = 0; node < graph_.nodes.size(); ++node)
                if (graph_.nodes[node].tier == tier) picks_.rows_[node] = row;
            divisor *= most_parents(tier);
        }
        return std::move(picks_);
    }

    // A row for each switch: the port with the fewest destinations so far, the first of equals.
    DestinationPicks by_use(const EqualPorts& equal_ports) && {
        uint32_t row = 0;
        for (uint32_t node = 0; node < graph_.nodes.size(); ++node) {
            std::vector<uint32_t> used(graph_.nodes[node].port_count);
            for (uint32_t to = 0; to < endpoints_.size(); ++to) {
                const std::span<const uint16_t> equal = equal_ports(node, to);
                const auto least =
                    std::ranges::min_element(equal, {}, [&](uint16_t port) { return used[port]; });
                if (least != equal.end()) ++used[*least];
                picks_.picks_.push_back(static_cast<uint32_t>(least - equal.begin()));
            }
            picks_.rows_[node] = row++;
        }
        return std::move(picks_);
    }

private:
    uint8_t highest_tier() const {
        return std::ranges::max_element(graph_.nodes, {}, &Node::tier)->tier;
    }

    uint32_t most_parents(uint8_t tier) const {
        size_t most = 1;
        for (uint32_t node = 0; node < graph_.nodes.size(); ++node) {
            if (graph_.nodes[node].tier != tier) continue;
            std::vector<uint32_t> parents;
            for (const Ports::Link& link : ports_.of(node))
                if (link.is_cabled() && graph_.nodes[link.peer.node].tier == tier + 1)
                    parents.push_back(link.peer.node);
            std::ranges::sort(parents);
            parents.erase(std::unique(parents.begin(), parents.end()), parents.end());
            most = std::max(most, parents.size());
        }
        return static_cast<uint32_t>(most);
    }

    // By endpoint: hosts of a leaf have consecutive numbers, and so do the leaves of each subtree.
    std::vector<uint32_t> tree_numbers() const {
        const std::vector<std::vector<uint32_t>> subtrees = subtrees_of_nodes();
        std::vector<uint32_t> order(endpoints_.size());
        std::iota(order.begin(), order.end(), 0);
        const auto leaf_port = [&](uint32_t i) { return ports_.at({endpoints_[i], 0}).peer; };
        std::ranges::sort(order, [&](uint32_t a, uint32_t b) {
            const topology::CableEnd one = leaf_port(a);
            const topology::CableEnd other = leaf_port(b);
            return std::tie(subtrees[one.node], one.node, one.port) <
                   std::tie(subtrees[other.node], other.node, other.port);
        });
        std::vector<uint32_t> numbers(order.size());
        for (uint32_t i = 0; i < order.size(); ++i) numbers[order[i]] = i;
        return numbers;
    }

    // By node, from the highest tier down: the first node of the subtree of that height that the
    // node belongs to. A subtree is what cables up to that tier join.
    std::vector<std::vector<uint32_t>> subtrees_of_nodes() const {
        std::vector<std::vector<uint32_t>> subtrees(graph_.nodes.size());
        for (uint8_t tier = highest_tier(); tier > kLeafTier; --tier) {
            std::vector<uint32_t> first(graph_.nodes.size());
            std::iota(first.begin(), first.end(), 0);
            const auto root = [&](uint32_t node) {
                while (first[node] != node) node = first[node] = first[first[node]];
                return node;
            };
            for (const Cable& cable : graph_.cables) {
                const uint32_t a = root(cable.a.node);
                const uint32_t b = root(cable.b.node);
                const uint8_t higher =
                    std::max(graph_.nodes[cable.a.node].tier, graph_.nodes[cable.b.node].tier);
                if (higher <= tier) first[std::max(a, b)] = std::min(a, b);
            }
            for (uint32_t node = 0; node < graph_.nodes.size(); ++node)
                subtrees[node].push_back(root(node));
        }
        return subtrees;
    }

    const Graph& graph_;
    Ports ports_;
    std::vector<uint32_t> endpoints_;
    DestinationPicks picks_;
};

bool is_tree(const Graph& graph) {
    for (const Node& node : graph.nodes)
        if (node.is_host() && node.port_count != 1) return false;
    return std::ranges::all_of(graph.cables, [&](const Cable& cable) {
        const Node& a = graph.nodes[cable.a.node];
        const Node& b = graph.nodes[cable.b.node];
        return a.tier + 1 == b.tier || b.tier + 1 == a.tier;
    });
}

DestinationPicks pick_by_destination(const Graph& graph, const EqualPorts& equal_ports) {
    if (is_tree(graph)) return DestinationPicker(graph).by_digits();
    return DestinationPicker(graph).by_use(equal_ports);
}

}  // namespace tulle::fabric
