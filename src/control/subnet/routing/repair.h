// New tables after cables broke, with as few changes as possible, so that a manager sends few SMPs
// and working paths stay.
//
// A LID is changed only if its tree crosses a broken cable. Then the switch before the cable looks
// for another port whose path is as long and, if the engine goes up and down, legal too. If there
// is none, the LID's ways are found again, and each switch keeps its port if it is still one of
// them. Paths that did not change keep their lanes, and are not looked at. Engines that follow a
// shape route everything anew, since a broken torus or dragonfly has lost that shape.
#pragma once

#include "control/subnet/routing/engines.h"

namespace tulle::control {

struct Repaired {
    Routing routing;
    bool is_new = false;           // everything was routed anew
    uint64_t changed_entries = 0;  // of forwarding tables
    uint32_t changed_blocks = 0;   // of 64 LIDs; each takes one SMP
    uint32_t changed_switches = 0;
};

// `now` is the routing of `before`, made by `engine` or by an earlier repair. `after` has the same
// switches and LIDs, and fewer links.
Repaired repair(const Subnet& before, const Subnet& after, const RoutingEngine& engine,
                const RoutingOptions& options, const Routing& now);

}  // namespace tulle::control
