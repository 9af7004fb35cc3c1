// Trees of switches that add up between servers, as in InfiniBand's SHARP: the switches that hosts
// are attached to, and those on the way to a common root. A host sends its contribution to its
// switch, a switch sends its sum to the one above, and the root sends the total down to all hosts
// (groups.h).
//
// A switch takes part in a limited number of trees, and a port in a limited number of streaming
// trees, in some cases only one. A job that finds no free tree has to add up in its hosts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "topology/graph.h"

namespace tulle::fabric {

struct ReductionTree {
    struct Link {
        uint32_t child = 0;  // switches
        uint32_t parent = 0;
        uint16_t up = 0;    // the port of the child
        uint16_t down = 0;  // and that of the parent
        bool operator==(const Link&) const = default;
    };
    uint32_t root = 0;
    std::vector<Link> links;  // one for each switch except the root
    bool streams = false;

    // The link from the child to its parent; null for the root.
    const Link* above(uint32_t child) const;
};

class ReductionTrees {
public:
    // Trees per switch, and streaming trees per port; 0: any number.
    struct Limits {
        uint32_t trees = 0;
        uint32_t streams = 0;
    };

    ReductionTrees(const topology::Graph& graph, Limits limits);

    // Reserves a tree over these hosts; no value if none is free. Roots take turns.
    std::optional<ReductionTree> take(std::span<const uint32_t> hosts, bool streams);

private:
    std::vector<uint32_t> leaves_of(std::span<const uint32_t> hosts) const;
    std::vector<uint32_t> distances_from(uint32_t node) const;
    std::vector<uint32_t> roots_of(std::span<const uint32_t> leaves) const;
    std::optional<ReductionTree> tree_at(uint32_t root, std::span<const uint32_t> leaves,
                                         std::span<const uint32_t> hosts, bool streams) const;
    bool is_free(topology::CableEnd end, bool streams) const;
    bool is_free(const ReductionTree& tree, std::span<const uint32_t> hosts) const;
    void occupy(const ReductionTree& tree, std::span<const uint32_t> hosts);
    template <class Visit>
    void for_each_end(const ReductionTree& tree, std::span<const uint32_t> hosts,
                      Visit&& visit) const;

    const topology::Graph& graph_;
    topology::Ports ports_;
    Limits limits_;
    std::vector<uint32_t> used_;                  // trees, by node
    std::vector<std::vector<uint32_t>> streams_;  // by node and port
    uint32_t taken_ = 0;
};

}  // namespace tulle::fabric
