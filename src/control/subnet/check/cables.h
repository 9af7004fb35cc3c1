// Finds faults of a fabric before anything is routed.
#pragma once

#include <span>
#include <vector>

#include "topology/ibnetdiscover.h"

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

// Two ports with the same LID.
struct SharedLid {
    uint16_t lid = 0;
    topology::CableEnd first;
    topology::CableEnd second;
};
std::vector<SharedLid> shared_lids(std::span<const topology::GivenLid> lids);

}  // namespace tulle::control
