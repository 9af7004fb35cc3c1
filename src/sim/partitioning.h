// Assigns each node of a network to a partition.
#pragma once

#include <vector>

#include "topology/graph.h"

namespace tulle::sim {

// Hosts are assigned as `home` says, by endpoint; if it is empty, in equal ranges. A switch goes to
// the partition of most neighbours below it; on a tie, to the one whose switches have fewest ports.
std::vector<uint32_t> partition_of_nodes(const topology::Graph& graph,
                                         const topology::Ports& cables,
                                         const std::vector<uint32_t>& home, size_t partitions);

}  // namespace tulle::sim
