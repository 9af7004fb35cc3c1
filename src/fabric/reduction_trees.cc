#include "fabric/reduction_trees.h"

#include <algorithm>
#include <set>

namespace tulle::fabric {
namespace {

constexpr uint32_t kFar = UINT32_MAX;

}  // namespace

const ReductionTree::Link* ReductionTree::above(uint32_t child) const {
    const auto found = std::ranges::find(links, child, &Link::child);
    return found != links.end() ? &*found : nullptr;
}

ReductionTrees::ReductionTrees(const topology::Graph& graph, Limits limits)
    : graph_(graph), ports_(graph), limits_(limits), used_(graph.nodes.size()) {
    for (const topology::Node& node : graph.nodes)
        streams_.emplace_back(node.is_host() ? 0 : node.port_count);
}

std::optional<ReductionTree> ReductionTrees::take(std::span<const uint32_t> hosts, bool streams) {
    const std::vector<uint32_t> leaves = leaves_of(hosts);
    // Two hosts on one cable have no switch between them.
    const auto is_host = [&](uint32_t node) { return graph_.nodes[node].is_host(); };
    if (std::ranges::any_of(leaves, is_host)) return std::nullopt;
    const std::vector<uint32_t> roots = roots_of(leaves);
    for (size_t i = 0; i < roots.size(); ++i) {
        const uint32_t root = roots[(taken_ + i) % roots.size()];
        auto tree = tree_at(root, leaves, hosts, streams);
        if (!tree) continue;
        occupy(*tree, hosts);
        ++taken_;
        return tree;
    }
    return std::nullopt;
}

// The switches that the hosts are attached to, each once.
std::vector<uint32_t> ReductionTrees::leaves_of(std::span<const uint32_t> hosts) const {
    std::set<uint32_t> leaves;
    for (const uint32_t host : hosts) leaves.insert(ports_.at({host, 0}).peer.node);
    return {leaves.begin(), leaves.end()};
}

// By node: the distance from `node` in cables between switches.
std::vector<uint32_t> ReductionTrees::distances_from(uint32_t node) const {
    std::vector<uint32_t> distance(graph_.nodes.size(), kFar);
    std::vector<uint32_t> reached{node};
    distance[node] = 0;
    for (size_t i = 0; i < reached.size(); ++i)
        for (const topology::Ports::Link& link : ports_.of(reached[i])) {
            if (!link.is_cabled() || graph_.nodes[link.peer.node].is_host() ||
                distance[link.peer.node] != kFar)
                continue;
            distance[link.peer.node] = distance[reached[i]] + 1;
            reached.push_back(link.peer.node);
        }
    return distance;
}

// The switches with the smallest distance to their furthest leaf.
std::vector<uint32_t> ReductionTrees::roots_of(std::span<const uint32_t> leaves) const {
    std::vector<uint32_t> furthest(graph_.nodes.size());
    for (const uint32_t leaf : leaves) {
        const std::vector<uint32_t> distance = distances_from(leaf);
        for (size_t i = 0; i < furthest.size(); ++i)
            furthest[i] = std::max(furthest[i], distance[i]);
    }
    uint32_t nearest = kFar;
    std::vector<uint32_t> roots;
    for (uint32_t node = 0; node < furthest.size(); ++node) {
        if (graph_.nodes[node].is_host() || furthest[node] > nearest || furthest[node] == kFar)
            continue;
        if (furthest[node] < nearest) roots.clear();
        nearest = furthest[node];
        roots.push_back(node);
    }
    return roots;
}

// Builds the tree from each leaf towards the root, through switches that are already in it if
// possible.
std::optional<ReductionTree> ReductionTrees::tree_at(uint32_t root,
                                                     std::span<const uint32_t> leaves,
                                                     std::span<const uint32_t> hosts,
                                                     bool streams) const {
    const std::vector<uint32_t> distance = distances_from(root);
    ReductionTree tree;
    tree.root = root;
    tree.streams = streams;
    std::set<uint32_t> members{root};
    for (uint32_t node : leaves)
        while (members.insert(node).second) {
            std::optional<ReductionTree::Link> chosen;
            const auto links = ports_.of(node);
            for (uint16_t port = 0; port < links.size(); ++port) {
                const topology::CableEnd peer = links[port].peer;
                if (!links[port].is_cabled() || graph_.nodes[peer.node].is_host() ||
                    distance[peer.node] + 1 != distance[node] || !is_free({node, port}, streams) ||
                    !is_free(peer, streams))
                    continue;
                const bool is_member = members.contains(peer.node);
                if (!chosen || is_member) chosen = {node, peer.node, port, peer.port};
                if (is_member) break;
            }
            if (!chosen) return std::nullopt;
            tree.links.push_back(*chosen);
            node = chosen->parent;
        }
    if (!is_free(tree, hosts)) return std::nullopt;
    return tree;
}

bool ReductionTrees::is_free(topology::CableEnd end, bool streams) const {
    return !streams || limits_.streams == 0 || streams_[end.node][end.port] < limits_.streams;
}

// Visits the ports that the tree uses at its switches, those to its hosts included.
template <class Visit>
void ReductionTrees::for_each_end(const ReductionTree& tree, std::span<const uint32_t> hosts,
                                  Visit&& visit) const {
    for (const ReductionTree::Link& link : tree.links) {
        visit(topology::CableEnd{link.child, link.up});
        visit(topology::CableEnd{link.parent, link.down});
    }
    for (const uint32_t host : hosts) visit(ports_.at({host, 0}).peer);
}

bool ReductionTrees::is_free(const ReductionTree& tree, std::span<const uint32_t> hosts) const {
    bool is_all = limits_.trees == 0 || used_[tree.root] < limits_.trees;
    for (const ReductionTree::Link& link : tree.links)
        is_all = is_all && (limits_.trees == 0 || used_[link.child] < limits_.trees);
    for_each_end(tree, hosts,
                 [&](topology::CableEnd end) { is_all = is_all && is_free(end, tree.streams); });
    return is_all;
}

void ReductionTrees::occupy(const ReductionTree& tree, std::span<const uint32_t> hosts) {
    ++used_[tree.root];
    for (const ReductionTree::Link& link : tree.links) ++used_[link.child];
    if (!tree.streams) return;
    for_each_end(tree, hosts, [&](topology::CableEnd end) { ++streams_[end.node][end.port]; });
}

}  // namespace tulle::fabric
