// What the faults of a setup do to its nodes, and when.
#pragma once

#include <vector>

#include "cluster/host.h"
#include "control/history.h"
#include "fabric/switch.h"
#include "sim/setup.h"

namespace tulle::sim {

// By node of the graph.
struct NodeChanges {
    std::vector<std::vector<fabric::NodeChange>> switches;
    std::vector<std::vector<cluster::HostChange>> hosts;
};

// Both ends of a cable see at once that it fails or comes back. `history`: of the control plane;
// null: tables are given.
void add_faults(const Setup& setup, const topology::Ports& cables, const control::History* history,
                NodeChanges& changes);

}  // namespace tulle::sim
