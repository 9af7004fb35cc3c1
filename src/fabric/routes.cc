#include "fabric/routes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>
#include <tuple>
#include <unordered_map>

#include "base/hash.h"

namespace tulle::fabric {
namespace {

using topology::Graph;
using topology::kNone;
using topology::Node;
using topology::Ports;

constexpr uint32_t kFar = 0xffff'ffff;  // unreachable

uint64_t hash_of(const auto& numbers) {
    base::Hash hash;
    for (const auto number : numbers) hash.add(number);
    return hash.value();
}

// The working part of a graph, seen by its switches, which have their own numbers here.
class Switches {
public:
    struct Edge {
        uint32_t peer = 0;  // a switch
        uint16_t port = 0;
        uint16_t peer_port = 0;
        uint32_t cable = 0;
    };

    Switches(const Graph& graph, const Ports& ports, const std::vector<bool>& cable_down,
             const std::vector<bool>& node_down)
        : graph_(graph), cable_down_(cable_down), node_down_(node_down) {
        for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
            index_.push_back(graph.nodes[i].is_host() ? kNone
                                                      : static_cast<uint32_t>(nodes_.size()));
            if (!graph.nodes[i].is_host()) nodes_.push_back(i);
        }
        first_.push_back(0);
        for (const uint32_t node : nodes_) {
            const auto links = ports.of(node);
            for (uint16_t port = 0; port < links.size(); ++port) {
                const Ports::Link& link = links[port];
                if (!works(node, link) || index_[link.peer.node] == kNone) continue;
                edges_.push_back({index_[link.peer.node], port, link.peer.port, link.cable});
            }
            first_.push_back(static_cast<uint32_t>(edges_.size()));
        }
    }

    uint32_t count() const { return static_cast<uint32_t>(nodes_.size()); }
    uint32_t node(uint32_t s) const { return nodes_[s]; }
    const Node& described(uint32_t s) const { return graph_.nodes[nodes_[s]]; }
    // The switch of a node; kNone for a host.
    uint32_t of_node(uint32_t node) const { return index_[node]; }
    std::span<const Edge> edges(uint32_t s) const {
        return std::span(edges_).subspan(first_[s], first_[s + 1] - first_[s]);
    }
    bool works(uint32_t node, const Ports::Link& link) const {
        return link.is_cabled() && !is_down(cable_down_, link.cable) &&
               !is_down(node_down_, node) && !is_down(node_down_, link.peer.node);
    }

    // Keeps only the edges whose cables are marked; returns the removed cables.
    std::vector<uint32_t> keep_only(const std::vector<bool>& cable_kept) {
        std::vector<uint32_t> gone;
        std::vector<Edge> kept;
        for (uint32_t s = 0; s < count(); ++s) {
            const auto mine = edges(s);
            first_[s] = static_cast<uint32_t>(kept.size());
            for (const Edge& edge : mine) {
                if (cable_kept[edge.cable])
                    kept.push_back(edge);
                else if (s < edge.peer)
                    gone.push_back(edge.cable);
            }
        }
        first_.back() = static_cast<uint32_t>(kept.size());
        edges_ = std::move(kept);
        std::sort(gone.begin(), gone.end());
        return gone;
    }

private:
    static bool is_down(const std::vector<bool>& down, uint32_t i) {
        return i < down.size() && down[i];
    }

    const Graph& graph_;
    const std::vector<bool>& cable_down_;
    const std::vector<bool>& node_down_;
    std::vector<uint32_t> index_;
    std::vector<uint32_t> nodes_;
    std::vector<uint32_t> first_;
    std::vector<Edge> edges_;
};

// How far each switch is from the root of its piece of the fabric, and which root that is. A root
// is the highest switch, then the one with most cables, then the first: what an operator would
// choose, and the same on each run.
struct Levels {
    std::vector<uint32_t> level;
    std::vector<uint32_t> root;
};

Levels levels_of(const Switches& switches) {
    std::vector<uint32_t> roots(switches.count());
    std::iota(roots.begin(), roots.end(), 0);
    std::stable_sort(roots.begin(), roots.end(), [&](uint32_t a, uint32_t b) {
        return std::tuple(switches.described(a).tier, switches.edges(a).size()) >
               std::tuple(switches.described(b).tier, switches.edges(b).size());
    });
    Levels found{std::vector(switches.count(), kFar), std::vector(switches.count(), kNone)};
    std::vector<uint32_t> queue;
    for (const uint32_t root : roots) {
        if (found.level[root] != kFar) continue;
        found.level[root] = 0;
        queue.assign(1, root);
        for (size_t i = 0; i < queue.size(); ++i) {
            found.root[queue[i]] = root;
            for (const auto& edge : switches.edges(queue[i]))
                if (found.level[edge.peer] == kFar) {
                    found.level[edge.peer] = found.level[queue[i]] + 1;
                    queue.push_back(edge.peer);
                }
        }
    }
    return found;
}

// The tree of IEEE 802.1D with equal costs: a switch reaches the root through the neighbour nearest
// to it, the lowest of these, and through that neighbour's lowest port.
std::vector<bool> tree_cables(const Switches& switches, size_t cable_count) {
    const Levels levels = levels_of(switches);
    std::vector<bool> kept(cable_count);
    for (uint32_t s = 0; s < switches.count(); ++s) {
        const Switches::Edge* best = nullptr;
        for (const auto& edge : switches.edges(s)) {
            if (levels.level[edge.peer] + 1 != levels.level[s]) continue;
            if (best == nullptr ||
                std::pair(edge.peer, edge.peer_port) < std::pair(best->peer, best->peer_port))
                best = &edge;
        }
        if (best != nullptr) kept[best->cable] = true;
    }
    return kept;
}

// The two ways to choose routes. After compute() for the switches `there` of a target, each answers
// how far a switch is from the target along its routes, and whether an edge is on a route. takes()
// is only for switches that are neither at the target nor out of reach.
class Shortest {
public:
    explicit Shortest(const Switches& switches) : switches_(switches) {}

    uint32_t distance(uint32_t s) const { return distance_[s]; }
    void compute(std::span<const uint32_t> there) {
        distance_.assign(switches_.count(), kFar);
        queue_.assign(there.begin(), there.end());
        for (const uint32_t s : there) distance_[s] = 0;
        for (size_t i = 0; i < queue_.size(); ++i)
            for (const auto& edge : switches_.edges(queue_[i]))
                if (distance_[edge.peer] == kFar) {
                    distance_[edge.peer] = distance_[queue_[i]] + 1;
                    queue_.push_back(edge.peer);
                }
    }
    bool takes(uint32_t s, const Switches::Edge& edge) const {
        return distance_[edge.peer] + 1 == distance_[s];
    }

private:
    const Switches& switches_;
    std::vector<uint32_t> distance_;
    std::vector<uint32_t> queue_;
};

// Switches have one order, from high to low. Where a target can be reached by going down only,
// packets do so; elsewhere they go up. A packet that has gone down never goes up again, so no
// circle of full buffers can close. A table does not know where a packet came from, so it goes down
// even where up would be shorter.
class UpDown {
public:
    // `order`: the switches, the highest first.
    UpDown(const Switches& switches, std::vector<uint32_t> order)
        : switches_(switches), order_(std::move(order)), place_(order_.size()) {
        for (uint32_t i = 0; i < order_.size(); ++i) place_[order_[i]] = i;
    }

    uint32_t distance(uint32_t s) const { return distance_[s]; }

    void compute(std::span<const uint32_t> there) {
        down_.assign(switches_.count(), kFar);
        for (const uint32_t s : there) down_[s] = 0;
        for (size_t i = order_.size(); i-- > 0;) {
            const uint32_t s = order_[i];
            for (const auto& edge : switches_.edges(s))
                if (!is_up(s, edge) && down_[edge.peer] != kFar)
                    down_[s] = std::min(down_[s], down_[edge.peer] + 1);
        }
        distance_ = down_;
        for (const uint32_t s : order_) {
            if (down_[s] != kFar) continue;
            for (const auto& edge : switches_.edges(s))
                if (is_up(s, edge) && distance_[edge.peer] != kFar)
                    distance_[s] = std::min(distance_[s], distance_[edge.peer] + 1);
        }
    }
    bool takes(uint32_t s, const Switches::Edge& edge) const {
        if (down_[s] != kFar) return !is_up(s, edge) && down_[edge.peer] + 1 == down_[s];
        return is_up(s, edge) && distance_[edge.peer] + 1 == distance_[s];
    }

private:
    bool is_up(uint32_t s, const Switches::Edge& edge) const {
        return place_[edge.peer] < place_[s];
    }

    const Switches& switches_;
    std::vector<uint32_t> order_;
    std::vector<uint32_t> place_;
    std::vector<uint32_t> distance_;
    std::vector<uint32_t> down_;  // distance by going down alone
};

std::vector<uint32_t> ordered_by(const std::vector<uint32_t>& height) {
    std::vector<uint32_t> order(height.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return height[a] < height[b]; });
    return order;
}

// The highest tier first; empty if all switches are of one tier.
std::vector<uint32_t> order_by_tier(const Switches& switches) {
    std::vector<uint32_t> height;
    for (uint32_t s = 0; s < switches.count(); ++s)
        height.push_back(0xffu - switches.described(s).tier);
    if (std::adjacent_find(height.begin(), height.end(), std::not_equal_to{}) == height.end())
        return {};
    return ordered_by(height);
}

}  // namespace

class RouteBuilder {
public:
    RouteBuilder(const Graph& graph, const std::vector<bool>& cable_down,
                 const std::vector<bool>& node_down, RouteSpread spread)
        : graph_(graph),
          ports_(graph),
          switches_(graph, ports_, cable_down, node_down),
          by_destination_(spread == RouteSpread::by_destination) {
        routes_.pool_.push_back(0);  // Routes::kNoPorts
        find_targets();
        find_profiles();
    }

    Routes build(RouteKind kind) && {
        switch (kind) {
            case RouteKind::shortest: fill(Shortest(switches_)); break;
            case RouteKind::up_down: build_up_down(); break;
            case RouteKind::spanning_tree:
                routes_.idle_cables_ =
                    switches_.keep_only(tree_cables(switches_, graph_.cables.size()));
                fill(Shortest(switches_));
                break;
        }
        share_rows();
        if (by_destination_) pick();
        return std::move(routes_);
    }

private:
    // A link out of a host.
    struct Way {
        uint32_t peer = 0;  // a node
        uint16_t port = 0;
        auto operator<=>(const Way&) const = default;
    };
    // Hosts with the same links have the same table. A host that is cabled to another host has a
    // profile of its own, since it may be a last hop.
    struct Profile {
        std::vector<Way> ways;
        uint32_t alone = kNone;
        auto operator<=>(const Profile&) const = default;
    };

    std::vector<Way> ways_of(uint32_t host) const {
        std::vector<Way> ways;
        const auto links = ports_.of(host);
        for (uint16_t port = 0; port < links.size(); ++port)
            if (switches_.works(host, links[port])) ways.push_back({links[port].peer.node, port});
        return ways;
    }

    void find_targets() {
        std::map<std::vector<uint32_t>, uint32_t> known;
        for (const uint32_t host : graph_.endpoints()) {
            std::vector<uint32_t> around;
            for (const Way& way : ways_of(host)) around.push_back(way.peer);
            std::sort(around.begin(), around.end());
            around.erase(std::unique(around.begin(), around.end()), around.end());
            const auto next = static_cast<uint32_t>(targets_.size());
            const auto [place, is_new] = known.try_emplace(around, next);
            if (is_new) targets_.push_back(around);
            routes_.endpoints_.push_back({host, place->second, hop_count()});
            for (const uint32_t node : around)
                routes_.hops_in_.push_back({node, list_to(node, host)});
        }
        routes_.endpoints_.push_back({kNone, 0, hop_count()});
        routes_.target_count_ = static_cast<uint32_t>(targets_.size());
    }

    uint32_t hop_count() const { return static_cast<uint32_t>(routes_.hops_in_.size()); }

    uint32_t list_to(uint32_t node, uint32_t host) {
        list_.clear();
        for (const Way& way : ways_of(host))
            if (way.peer == node) list_.push_back(ports_.at({host, way.port}).peer.port);
        std::sort(list_.begin(), list_.end());
        return intern(list_);
    }

    void find_profiles() {
        std::map<Profile, uint32_t> known;
        for (const uint32_t host : graph_.endpoints()) {
            Profile profile{ways_of(host), kNone};
            for (const Way& way : profile.ways)
                if (switches_.of_node(way.peer) == kNone) profile.alone = host;
            const auto next = static_cast<uint32_t>(profiles_.size());
            const auto [place, is_new] = known.try_emplace(profile, next);
            if (is_new) profiles_.push_back(profile);
            profile_of_.push_back(place->second);
        }
    }

    // By tiers if there are any. Broken cables may leave hosts that are joined only by a way down
    // and up again. Then the order is that of a tree, which reaches all that is connected.
    void build_up_down() {
        if (auto order = order_by_tier(switches_); !order.empty()) {
            fill(UpDown(switches_, std::move(order)));
            if (reaches_all()) return;
        }
        fill(UpDown(switches_, ordered_by(levels_of(switches_).level)));
    }

    bool reaches_all() const {
        const Levels levels = levels_of(switches_);
        for (uint32_t t = 0; t < targets_.size(); ++t)
            for (const uint32_t to : targets_[t]) {
                if (switches_.of_node(to) == kNone) continue;
                const uint32_t piece = levels.root[switches_.of_node(to)];
                for (uint32_t p = 0; p < profiles_.size(); ++p)
                    for (const Way& way : profiles_[p].ways) {
                        const uint32_t s = switches_.of_node(way.peer);
                        if (s != kNone && levels.root[s] == piece &&
                            cell(row_of_profile(p), t) == 0)
                            return false;
                    }
            }
        return true;
    }

    uint32_t row_of_profile(uint32_t profile) const { return switches_.count() + profile; }
    uint32_t& cell(uint32_t row, uint32_t target) {
        return table_[size_t{row} * targets_.size() + target];
    }
    uint32_t cell(uint32_t row, uint32_t target) const {
        return table_[size_t{row} * targets_.size() + target];
    }

    // The whole table: a row for each switch, then one for each profile of hosts.
    template <class Kind>
    void fill(Kind distances) {
        table_.assign((switches_.count() + profiles_.size()) * targets_.size(), 0);
        std::vector<uint32_t> there;
        for (uint32_t t = 0; t < targets_.size(); ++t) {
            there.clear();
            for (const uint32_t node : targets_[t])
                if (switches_.of_node(node) != kNone) there.push_back(switches_.of_node(node));
            distances.compute(there);
            for (uint32_t s = 0; s < switches_.count(); ++s)
                cell(s, t) = list_of_switch(distances, s);
            for (uint32_t p = 0; p < profiles_.size(); ++p)
                cell(row_of_profile(p), t) = list_of_profile(distances, profiles_[p], targets_[t]);
        }
    }

    template <class Kind>
    uint32_t list_of_switch(const Kind& distances, uint32_t s) {
        if (distances.distance(s) == 0) return Routes::kLastHop;
        if (distances.distance(s) == kFar) return 0;
        list_.clear();
        for (const auto& edge : switches_.edges(s))
            if (distances.takes(s, edge)) list_.push_back(edge.port);
        if (by_destination_) alternate_neighbours(switches_.node(s));
        return intern(list_);
    }

    // The first port to each neighbour, then the second to each, and so on.
    void alternate_neighbours(uint32_t node) {
        std::map<uint32_t, uint32_t> seen;
        std::vector<std::pair<uint32_t, uint16_t>> by_round;
        for (const uint16_t port : list_)
            by_round.emplace_back(seen[ports_.at({node, port}).peer.node]++, port);
        std::sort(by_round.begin(), by_round.end());
        for (size_t i = 0; i < list_.size(); ++i) list_[i] = by_round[i].second;
    }

    void pick() {
        routes_.picks_ = pick_by_destination(graph_, [this](uint32_t node, uint32_t endpoint) {
            const PortList all = routes_.ports_of_row(routes_.row(node), node, endpoint);
            return std::span(all.begin(), all.end());
        });
        uint16_t most = 0;
        for (const Node& node : graph_.nodes) most = std::max(most, node.port_count);
        for (uint16_t port = 0; port < most; ++port) {
            routes_.singles_.push_back(1);
            routes_.singles_.push_back(port);
        }
    }

    template <class Kind>
    uint32_t list_of_profile(const Kind& distances, const Profile& profile,
                             const std::vector<uint32_t>& target) {
        if (std::binary_search(target.begin(), target.end(), profile.alone))
            return Routes::kLastHop;
        uint32_t nearest = kFar;
        list_.clear();
        for (const Way& way : profile.ways) {
            const uint32_t s = switches_.of_node(way.peer);
            const uint32_t distance = s == kNone ? kFar : distances.distance(s);
            if (distance == kFar || distance > nearest) continue;
            if (distance < nearest) list_.clear();
            nearest = distance;
            list_.push_back(way.port);
        }
        return intern(list_);
    }

    uint32_t intern(const std::vector<uint16_t>& ports) {
        if (ports.empty()) return 0;
        std::vector<uint32_t>& same_hash = known_lists_[hash_of(ports)];
        for (const uint32_t list : same_hash)
            if (std::ranges::equal(routes_.list_at(list), ports)) return list;
        const auto list = static_cast<uint32_t>(routes_.pool_.size());
        routes_.pool_.push_back(static_cast<uint16_t>(ports.size()));
        routes_.pool_.insert(routes_.pool_.end(), ports.begin(), ports.end());
        same_hash.push_back(list);
        return list;
    }

    std::span<const uint32_t> row(const std::vector<uint32_t>& table, size_t i) const {
        return std::span(table).subspan(i * targets_.size(), targets_.size());
    }

    // Stores equal rows once, and gives each node the number of its row.
    void share_rows() {
        const size_t row_count = switches_.count() + profiles_.size();
        std::unordered_map<uint64_t, std::vector<uint32_t>> known;
        std::vector<uint32_t> shared(row_count);
        uint32_t kept = 0;
        for (uint32_t i = 0; i < row_count; ++i) {
            const auto mine = row(table_, i);
            std::vector<uint32_t>& same_hash = known[hash_of(mine)];
            const auto equal = std::find_if(same_hash.begin(), same_hash.end(), [&](uint32_t r) {
                return std::ranges::equal(row(routes_.lists_, r), mine);
            });
            if (equal == same_hash.end()) {
                routes_.lists_.insert(routes_.lists_.end(), mine.begin(), mine.end());
                same_hash.push_back(kept);
                shared[i] = kept++;
            } else {
                shared[i] = *equal;
            }
        }
        routes_.lists_.shrink_to_fit();
        routes_.pool_.shrink_to_fit();
        uint32_t endpoint = 0;
        for (uint32_t node = 0; node < graph_.nodes.size(); ++node) {
            const uint32_t s = switches_.of_node(node);
            routes_.rows_.push_back(
                shared[s != kNone ? s : row_of_profile(profile_of_[endpoint++])]);
        }
    }

    const Graph& graph_;
    Ports ports_;
    Switches switches_;
    bool by_destination_;
    Routes routes_;
    std::vector<std::vector<uint32_t>> targets_;  // the nodes of each target, ascending
    std::vector<Profile> profiles_;
    std::vector<uint32_t> profile_of_;                                 // by endpoint
    std::vector<uint32_t> table_;                                      // by row and target
    std::vector<uint16_t> list_;                                       // the list in progress
    std::unordered_map<uint64_t, std::vector<uint32_t>> known_lists_;  // by hash
};

Routes Routes::compute(const Graph& graph, RouteKind kind, const std::vector<bool>& cable_down,
                       const std::vector<bool>& node_down, RouteSpread spread) {
    return RouteBuilder(graph, cable_down, node_down, spread).build(kind);
}

size_t Routes::memory_bytes() const {
    const auto bytes = [](const auto& vector) { return vector.capacity() * sizeof(vector[0]); };
    return sizeof(*this) + bytes(rows_) + bytes(lists_) + bytes(pool_) + bytes(endpoints_) +
           bytes(hops_in_) + bytes(idle_cables_) + bytes(singles_) + picks_.memory_bytes();
}

}  // namespace tulle::fabric
