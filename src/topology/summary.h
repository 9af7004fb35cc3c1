// A fabric in a few numbers.
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
    // Cables between the two hosts that are farthest apart; none where the fabric is too large to
    // look at all pairs.
    std::optional<uint32_t> diameter;
    // The fewest cables whose loss would part the first half of the hosts from the second.
    uint64_t bisection_cables = 0;
    // The same by rates, where every cable has one.
    std::optional<uint64_t> bisection_bps;
    // What half of the hosts can send, over what can cross that cut: 2/1 is two to one.
    uint64_t oversubscription_numerator = 1;
    uint64_t oversubscription_denominator = 1;
};

// Of a graph that check() found in order.
Summary summarise(const Graph& graph);

}  // namespace tulle::topology
