// Matches nodes of different ranks: the members of a collective, and a send with its receive.
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
    // By rank and node. For a collective: its meeting. For a message: the node at the other end.
    std::vector<std::vector<uint32_t>> partner;
};

// The nodes of a rank in a possible order of execution; among nodes that are ready, the first comes
// first. An error names a node that waits for itself.
base::Result<std::vector<uint32_t>> order_of(const Trace& trace, uint32_t rank);

base::Result<Matching> match(const Trace& trace);

}  // namespace tulle::traces
