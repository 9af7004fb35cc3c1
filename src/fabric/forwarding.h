// Which of several equal ports a destination gets, as a subnet manager of InfiniBand writes it into
// the forwarding tables of switches: one port for each destination, whoever sends.
//
// On trees that is d-mod-k (Zahavi, "Fat-trees routing and node ordering providing contention free
// traffic for MPI global collectives", 2011; OpenSM's engine `ftree` does the like): hosts are
// numbered from leaf to leaf, and each tier takes the next digit of the destination's number for
// its way up. All traffic to a host then comes down one way, hosts of a leaf come down different
// ways, and a shift permutation meets nowhere. The divisors of the digits are how many parents the
// switches of each tier below have; the way down needs the same digit where cables are parallel.
//
// On other fabrics each switch goes through the destinations in order and takes the port that has
// fewest so far, as OpenSM's `minhop` does.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "topology/graph.h"

namespace tulle::fabric {

class DestinationPicks {
public:
    bool empty() const { return picks_.empty(); }
    // Which of its equal ports, modulo their number.
    uint32_t of(uint32_t node, uint32_t endpoint) const {
        return picks_[size_t{rows_[node]} * endpoint_count_ + endpoint];
    }
    size_t memory_bytes() const {
        return (rows_.capacity() + picks_.capacity()) * sizeof(uint32_t);
    }

private:
    friend class DestinationPicker;

    uint32_t endpoint_count_ = 0;
    std::vector<uint32_t> rows_;   // by node; nodes of one tier of a tree share a row
    std::vector<uint32_t> picks_;  // by row and endpoint
};

// The equal ports of a node towards an endpoint; empty where it is there, or out of reach.
using EqualPorts = std::function<std::span<const uint16_t>(uint32_t node, uint32_t endpoint)>;

DestinationPicks pick_by_destination(const topology::Graph& graph, const EqualPorts& equal_ports);

// Hosts on switches of the lowest tier, and cables between neighbouring tiers alone.
bool is_tree(const topology::Graph& graph);

}  // namespace tulle::fabric
