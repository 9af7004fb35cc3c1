// Which nodes of different ranks belong together: members of one collective, and a message with
// its receipt.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "traces/trace.h"

namespace tulle::traces {

// A collective of a group: the node of each of its ranks.
struct Meeting {
    uint32_t group = 0;
    size_t first = 0;  // of Matching::nodes, in the order of the group's ranks
};

struct Matching {
    std::vector<Meeting> meetings;
    std::vector<uint32_t> nodes;
    // By rank and node. Of a collective: which meeting. Of a message: the node at its other end.
    std::vector<std::vector<uint32_t>> partner;
};

// The nodes of a rank in an order in which they could be done, the first of those that could be
// done next before the others; or which node waits for itself.
base::Result<std::vector<uint32_t>> order_of(const Trace& trace, uint32_t rank);

base::Result<Matching> match(const Trace& trace);

}  // namespace tulle::traces
