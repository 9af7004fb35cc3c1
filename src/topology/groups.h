// The groups of a dragonfly, found in its graph: files do not name them.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/graph.h"

namespace tulle::topology {

// By node, its group; that of a host is its switch's. Empty if the graph is no dragonfly: runs of
// switches of one length, in the order of nodes, in which each has a cable to each other one, and a
// cable between any two of the groups. A fabric whose switches all have cables to each other has no
// groups.
std::vector<uint32_t> dragonfly_groups(const Graph& graph);

}  // namespace tulle::topology
