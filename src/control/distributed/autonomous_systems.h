// Which autonomous system each switch is in (RFC 7938, 5.2.1).
//
// In a tree, switches of one tier that the tiers below them join share a number: all of the top
// tier, the middle ones of a pod, and each leaf has its own. A path that came down from a tier is
// then refused by every other switch of that tier, so nobody hunts for ways down and up again.
// Where there are no tiers each switch is a system of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "control/settings.h"
#include "topology/graph.h"

namespace tulle::control {

// By node; of hosts it means nothing. Fabrics without tiers are numbered by switch.
std::vector<uint32_t> autonomous_systems(const topology::Graph& graph, SystemScheme scheme);

}  // namespace tulle::control
