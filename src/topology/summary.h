// Key figures of a fabric.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "topology/graph.h"

namespace tulle::topology {

struct Summary {
    uint64_t hosts = 0;
    uint64_t servers = 0;
    uint64_t switches = 0;
    std::vector<uint64_t> switches_of_tier;  // tier 1 first
    uint64_t cables = 0;
    uint64_t host_cables = 0;
    // Cables between the two hosts that are farthest apart; none if the fabric is too large to
    // search all pairs.
    std::optional<uint32_t> diameter;
    // The least number of cables whose removal separates the first half of the hosts from the
    // second.
    uint64_t bisection_cables = 0;
    // The same in bits per second, if every cable has a rate.
    std::optional<uint64_t> bisection_bps;
    // The rate of half of the hosts over the rate of that cut: 2/1 is two to one.
    uint64_t oversubscription_numerator = 1;
    uint64_t oversubscription_denominator = 1;
};

// For a checked graph (Graph::check).
Summary summarise(const Graph& graph);

}  // namespace tulle::topology
