// The part of Graph::check() that every fabric must pass, also one that is broken.
#pragma once

#include <optional>

#include "base/result.h"
#include "topology/graph.h"

namespace tulle::topology {

// No hosts, two nodes with the same name or GUID, a port used twice, a cable to its own node. Hosts
// may lack cables, and the fabric may be in pieces.
std::optional<base::Error> check_structure(const Graph& graph);

}  // namespace tulle::topology
