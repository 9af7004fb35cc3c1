// The topology file of HPCC's simulator, which ASTRA-sim's ns-3 backend and others use too:
//
//   nodes switches links
//   the ids of the switches
//   source destination rate delay error-rate      one line per link
//
// All other ids are hosts. Ports are numbered in the order of the links, as that simulator does.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "topology/graph.h"

namespace tulle::topology {

// `name` is the file's, for error messages. Nodes are named after their tiers.
base::Result<Graph> read_hpcc(std::string_view text, std::string_view name);

// Every cable needs a rate and a delay, because the format has no default. Names, rails and lengths
// are lost, and ports are renumbered in the order of the cables.
base::Result<std::string> write_hpcc(const Graph& graph);

}  // namespace tulle::topology
