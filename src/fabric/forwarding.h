// The port that a destination gets among several equal ones, as an InfiniBand subnet manager writes
// it into the forwarding tables of switches: one port per destination, for all senders.
//
// On trees this is d-mod-k (Zahavi, "Fat-trees routing and node ordering providing contention free
// traffic for MPI global collectives", 2011; OpenSM's engine `ftree` is similar). Hosts are
// numbered from leaf to leaf, and each tier takes the next digit of the destination's number for
// its way up. All traffic to a host then comes down one way, hosts of a leaf come down different
// ways, and flows of a shift permutation never meet. The divisors of the digits are the numbers of
// parents that the switches of each tier below have. Where cables are parallel, the way down uses
// the same digit.
//
// On other fabrics each switch goes through the destinations in order and takes the port with the
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
    // The index of the chosen port among the node's equal ports, modulo their number.
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

// The equal ports of a node towards an endpoint; empty if it is the node itself, or out of reach.
using EqualPorts = std::function<std::span<const uint16_t>(uint32_t node, uint32_t endpoint)>;

DestinationPicks pick_by_destination(const topology::Graph& graph, const EqualPorts& equal_ports);

// True if hosts are only on switches of the lowest tier, and cables only between neighbouring
// tiers.
bool is_tree(const topology::Graph& graph);

}  // namespace tulle::fabric
