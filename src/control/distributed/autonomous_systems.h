// Which autonomous system each switch is in (RFC 7938, 5.2.1).
//
// In a tree, switches of one tier that are connected through lower tiers share a number: all of the
// top tier, and the middle ones of a pod. Each leaf has its own. Every other switch of a tier then
// refuses a path that came down from that tier, so BGP does not hunt for paths down and up again.
// In a fabric without tiers, each switch is a system of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "control/settings.h"
#include "topology/graph.h"

namespace tulle::control {

// By node; the entries of hosts have no meaning. Fabrics without tiers are numbered by switch.
std::vector<uint32_t> autonomous_systems(const topology::Graph& graph, SystemScheme scheme);

}  // namespace tulle::control
