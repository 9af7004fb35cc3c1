// Finds faults of a fabric before anything is routed.
#pragma once

#include <vector>

#include "topology/graph.h"

namespace tulle::control {

// A cable with a wrong width or speed: its rate differs from that of most between its two tiers.
struct OddCable {
    uint32_t cable = 0;
    uint64_t rate_bps = 0;
    uint64_t usual_bps = 0;
};
std::vector<OddCable> odd_cables(const topology::Graph& graph);

// Two nodes with the same GUID.
struct SharedGuid {
    uint64_t guid = 0;
    uint32_t first = 0;  // a node
    uint32_t second = 0;
};
std::vector<SharedGuid> shared_guids(const topology::Graph& graph);

}  // namespace tulle::control
