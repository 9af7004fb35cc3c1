// Any tables made free of deadlock by lanes; up and down where there are too few lanes.
#pragma once

#include "control/subnet/routing/engines.h"
#include "control/subnet/routing/lanes.h"

namespace tulle::control {

Routing route_with_lanes(const Subnet& subnet, const RoutingOptions& options,
                         ForwardingTables tables);

}  // namespace tulle::control
