// Adaptive routing on InfiniBand: besides the port that a subnet manager writes for a LID, a switch
// gets the group of all ports that lead there in as few hops. It sends through the one with the
// shortest queue, and skips ports without light on its own.
//
// Groups are for fabrics with tiers: there, shortest paths go up and then down, and cannot form a
// credit loop. A switch gets its groups with the last changed block of its table. If no block
// changed, it gets them when the manager has written its last block to any switch. The SMPs that
// carry groups are not counted.
#pragma once

#include "control/history.h"

namespace tulle::control {

// Whether every cable joins two adjacent tiers.
bool has_tiers(const topology::Graph& graph);

// Replaces the ports in a history by groups, and judges the history again.
void add_adaptive_groups(const topology::Graph& graph, History& history);

}  // namespace tulle::control
