// Measures how evenly tables use the links between switches.
#pragma once

#include <cstdint>

#include "control/subnet/tables.h"

namespace tulle::control {

// In shift k of n hosts, host i sends to host (i + k) mod n, all at once. Hosts are numbered from
// leaf to leaf (homes_in_tree_order).
struct ShiftSpread {
    uint32_t hosts = 0;
    uint32_t shifts = 0;  // that were measured
    uint32_t shifts_without_conflict = 0;
    uint32_t most_flows = 0;  // on one link, in the worst shift
    uint32_t worst_shift = 0;
    uint32_t worst_link = kNone;  // an example
    uint64_t sum_of_most = 0;     // sum over the shifts of the most flows on one link
};

// Measures all shifts, or `most_shifts` of them at even distances.
ShiftSpread measure_shifts(const Subnet& subnet, const ForwardingTables& tables,
                           uint32_t most_shifts);

// Pairs of hosts whose path crosses a link, when all talk to all.
struct PathSpread {
    uint64_t links = 0;
    uint64_t most = 0;  // on one link
    uint64_t sum = 0;   // over all links
};
PathSpread measure_paths(const Subnet& subnet, const ForwardingTables& tables);

}  // namespace tulle::control
