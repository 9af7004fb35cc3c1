// New tables after cables broke, as close to the old ones as can be: what need not change stays, so
// that a manager sends few SMPs and paths that work are left alone.
//
// A LID is touched only if its tree crosses a broken cable. Then the switch before the cable looks
// for another port whose path is as long and, where the engine goes up and down, as legal. Where
// there is none, the LID's ways are found again, and each switch keeps its port if it is still one
// of them. Lanes are looked at again from where they were. Engines that follow a shape route all
// anew, since a broken torus or dragonfly is none.
#pragma once

#include "control/subnet/routing/engines.h"

namespace tulle::control {

struct Repaired {
    Routing routing;
    bool is_new = false;           // all was routed anew
    uint64_t changed_entries = 0;  // of forwarding tables
    uint32_t changed_blocks = 0;   // of 64 LIDs: an SMP each
    uint32_t changed_switches = 0;
};

// `now` is what `engine` made of `before`, or what an earlier repair left. `after` has the same
// switches and LIDs, and fewer links.
Repaired repair(const Subnet& before, const Subnet& after, const RoutingEngine& engine,
                const RoutingOptions& options, const Routing& now);

}  // namespace tulle::control
