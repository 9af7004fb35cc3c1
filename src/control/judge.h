// Follows tables and tells for how long after each disturbance somebody had no route. It trusts no
// control plane: it looks at tables and cables alone.
#pragma once

#include "control/history.h"

namespace tulle::control {

// Fills in what `history.repairs` says of pairs and times; their causes are there, by time.
void judge_repairs(const topology::Graph& graph, History& history);

}  // namespace tulle::control
