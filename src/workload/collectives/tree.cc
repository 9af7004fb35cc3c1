// Trees over servers. In a binary tree half of the nodes are leaves, which send and receive each
// byte once; inner nodes do so twice. With two trees, where the inner nodes of one are leaves of
// the other, all nodes have the same load (Sanders, Speck and Traeff, 2009).
#include <algorithm>
#include <bit>
#include <numeric>

#include "workload/collectives/algorithms.h"

namespace tulle::workload {
namespace {

std::vector<uint32_t> by_depth(std::span<const uint32_t> parents) {
    std::vector<uint32_t> depth(parents.size());
    for (uint32_t i = 0; i < parents.size(); ++i)
        for (uint32_t node = i; parents[node] != node; node = parents[node]) ++depth[i];
    std::vector<uint32_t> nodes(parents.size());
    std::iota(nodes.begin(), nodes.end(), 0);
    std::stable_sort(nodes.begin(), nodes.end(),
                     [&](uint32_t a, uint32_t b) { return depth[a] < depth[b]; });
    return nodes;
}

// A tree over chains: the parent of each member, and the order in which to walk down.
struct Tree {
    std::vector<uint32_t> parents;
    std::vector<uint32_t> down;

    explicit Tree(std::vector<uint32_t> up) : parents(std::move(up)), down(by_depth(parents)) {}
};

void reduce_up(Exchange& exchange, const Chains& chains, const Tree& tree, Range range,
               uint16_t channel) {
    for (const auto& chain : chains)
        for (size_t i = chain.size() - 1; i > 0; --i)
            exchange.reduce(chain[i], chain[i - 1], range, channel);
    for (auto node = tree.down.rbegin(); node != tree.down.rend(); ++node)
        if (const uint32_t parent = tree.parents[*node]; parent != *node)
            exchange.reduce(chains[*node].front(), chains[parent].front(), range, channel);
}

void copy_down(Exchange& exchange, const Chains& chains, const Tree& tree, Range range,
               uint16_t channel) {
    for (const uint32_t node : tree.down)
        if (const uint32_t parent = tree.parents[node]; parent != node)
            exchange.copy(chains[parent].front(), chains[node].front(), range, channel);
    for (const auto& chain : chains)
        for (size_t i = 0; i + 1 < chain.size(); ++i)
            exchange.copy(chain[i], chain[i + 1], range, channel);
}

std::vector<uint32_t> chain_from(const Placement& placement, uint32_t server, uint32_t place) {
    const uint32_t count = placement.count_of(server);
    std::vector<uint32_t> chain;
    for (uint32_t i = 0; i < count; ++i)
        chain.push_back(placement.first_of(server) + (place + i) % count);
    return chain;
}

// Each of the two trees carries half of the range, piece by piece, on its own channel.
template <class Visit>
void each_piece_of_trees(const Exchange& exchange, uint32_t count, Range range, uint16_t channel,
                         Visit&& visit) {
    const Tree trees[] = {Tree(binary_tree(count)), Tree(complementary_tree(count))};
    const uint64_t pieces = exchange.piece_count(part(range, 2, 1));
    for (uint64_t piece = 0; piece < pieces; ++piece)
        for (uint16_t i = 0; i < 2; ++i)
            visit(trees[i], part(part(range, 2, i), pieces, piece),
                  static_cast<uint16_t>(2 * channel + i));
}

}  // namespace

// The height of a node is its lowest set bit. Its parent is the node one level higher, on whichever
// side there is one.
std::vector<uint32_t> binary_tree(uint32_t count) {
    std::vector<uint32_t> parents(count);
    for (uint32_t node = 1; node < count; ++node) {
        const uint32_t bit = node & (~node + 1);
        const uint32_t above = (node ^ bit) | (bit << 1);
        parents[node] = above < count ? above : node ^ bit;
    }
    return parents;
}

std::vector<uint32_t> complementary_tree(uint32_t count) {
    const auto other = [&](uint32_t node) {
        return count % 2 == 0 ? count - 1 - node : (node + 1) % count;
    };
    const std::vector<uint32_t> parents = binary_tree(count);
    std::vector<uint32_t> others(count);
    for (uint32_t node = 0; node < count; ++node) others[other(node)] = other(parents[node]);
    return others;
}

Chains tree_chains(const Placement& placement, uint32_t channel) {
    Chains chains;
    for (uint32_t server = 0; server < placement.server_count(); ++server)
        chains.push_back(chain_from(placement, server, channel % placement.count_of(server)));
    return chains;
}

void tree_all_reduce(Exchange& exchange, const Chains& chains, Range range, uint16_t channel) {
    each_piece_of_trees(exchange, static_cast<uint32_t>(chains.size()), range, channel,
                        [&](const Tree& tree, Range data, uint16_t its_channel) {
                            reduce_up(exchange, chains, tree, data, its_channel);
                            copy_down(exchange, chains, tree, data, its_channel);
                        });
}

// In the root's server the data go to the member on the channel's rail, which feeds the trees.
void tree_broadcast(Exchange& exchange, uint32_t root, Range range, uint16_t channel) {
    const Placement& placement = exchange.placement();
    const uint32_t home = placement.server_of(root);
    std::vector<uint32_t> at_home = chain_from(placement, home, channel % placement.count_of(home));
    at_home.erase(std::find(at_home.begin(), at_home.end(), root));
    Chains others;
    for (uint32_t i = 1; i < placement.server_count(); ++i) {
        const uint32_t server = (home + i) % placement.server_count();
        others.push_back(chain_from(placement, server, channel % placement.count_of(server)));
    }
    const uint32_t feeder = at_home.empty() ? root : at_home.front();
    each_piece_of_trees(exchange, static_cast<uint32_t>(others.size()), range, channel,
                        [&](const Tree& tree, Range data, uint16_t its_channel) {
                            uint32_t from = root;
                            for (const uint32_t to : at_home) {
                                exchange.copy(from, to, data, its_channel);
                                from = to;
                            }
                            if (others.empty()) return;
                            exchange.copy(feeder, others[tree.down.front()].front(), data,
                                          its_channel);
                            copy_down(exchange, others, tree, data, its_channel);
                        });
}

}  // namespace tulle::workload
