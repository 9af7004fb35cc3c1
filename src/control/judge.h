// Measures from tables and cables alone how long after each disturbance some pair had no route. It
// trusts no control plane.
#pragma once

#include "control/history.h"

namespace tulle::control {

// Fills in the pair counts and times of `history.repairs`. Its causes must be set, ordered by time.
// With `avoids_dead_ports`, a switch skips ports of a list that have no light.
void judge_repairs(const topology::Graph& graph, History& history, bool avoids_dead_ports = false);

}  // namespace tulle::control
