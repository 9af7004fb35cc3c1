// Tiers and names for switches, for files that have none.
#pragma once

#include "topology/graph.h"

namespace tulle::topology {

// A switch with hosts is a leaf; any other is one tier above its lowest neighbour.
void assign_tiers(Graph& graph);

// Names hosts h0, h1, ..., and switches after their tier, as the builders do: leaf0, spine0, core0,
// then tier4-0 and so on. If all switches are of one tier: switch0, switch1, ...
void assign_names(Graph& graph);

}  // namespace tulle::topology
