// Forms that other programs read and we do not.
#pragma once

#include <string>

#include "base/result.h"
#include "topology/graph.h"

namespace tulle::topology {

// Graphviz: hosts below, switches of a tier in one row.
std::string write_dot(const Graph& graph);

// Slurm's topology.conf for topology/tree. Slurm knows one parent for each switch, so switches of a
// tier with the same children are one: the spines of a pod, all cores, and the leaves of a group of
// servers with several rails. A top switch is made up where several are left.
base::Result<std::string> write_slurm(const Graph& graph);

}  // namespace tulle::topology
