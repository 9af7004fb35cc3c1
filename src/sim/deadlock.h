// Do output ports wait for each other in a circle? A lane that may not send waits for room in the
// buffer behind its cable; that room is taken by packets that came the same way and wait for other
// lanes. A circle of such lanes that are all held will never move by itself.
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
