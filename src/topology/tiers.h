// Tiers and names for switches of files that give none.
#pragma once

#include "topology/graph.h"

namespace tulle::topology {

// A switch with hosts is a leaf; every other one stands one tier above the lowest one beside it.
void assign_tiers(Graph& graph);

// Names every host h0, h1, ... and every switch after its tier, as the builders do: leaf0, spine0,
// core0, and tier4-0 and so on above. Where all switches are of one tier: switch0, switch1, ...
void assign_names(Graph& graph);

}  // namespace tulle::topology
