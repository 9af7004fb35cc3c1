// Fills lanes one after the other: each takes all paths that close no cycle on it, longest first.
// This takes longer than breaking cycles (lanes.h), and needs fewer lanes: 7 instead of 13 on a
// torus of 5x5x5 with two hosts a switch.
//
// The pairs of links on a lane are kept in topological order (Pearce and Kelly, "A dynamic
// topological sort algorithm for directed acyclic graphs", 2006). A lane only gains pairs, so a
// pair that would close a cycle once always would. Each pair is therefore tried once, and most
// paths cost one lookup for each of their pairs.
#pragma once

#include <optional>

#include "control/subnet/tables.h"

namespace tulle::control {

// Nothing if it needs more than `max_lanes`, or would take too long.
std::optional<Lanes> pack_lanes(const Subnet& subnet, const ForwardingTables& tables,
                                uint8_t max_lanes);

}  // namespace tulle::control
