// Formats that are only written, for other programs.
#pragma once

#include <string>

#include "base/result.h"
#include "topology/graph.h"

namespace tulle::topology {

// Graphviz: hosts below, switches of a tier in one row.
std::string write_dot(const Graph& graph);

// Slurm's topology.conf for topology/tree. A switch of Slurm has one parent, so switches of a tier
// with the same children are merged: the spines of a pod, all cores, and the leaves of a group of
// servers with several rails. A top switch is invented if several are left.
base::Result<std::string> write_slurm(const Graph& graph);

}  // namespace tulle::topology
