// Finds output ports that wait for each other in a circle. A lane that may not send waits for room
// in the buffer at the other end of its cable. Packets that came over that cable fill the buffer
// and wait for other lanes. If all lanes of a circle are held, none of them can ever move.
#pragma once

#include <vector>

#include "sim/result.h"

namespace tulle::sim {

struct WaitGraph {
    struct Lane {
        DeadlockHop hop;
        std::vector<uint32_t> waits_for;  // indices into `lanes`
    };
    std::vector<Lane> lanes;  // those that are held and have packets
};

// The lanes of one circle in order; empty if there is none.
std::vector<DeadlockHop> find_circle(const WaitGraph& graph);

}  // namespace tulle::sim
