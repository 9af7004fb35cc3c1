// Shared by the engines up-down and fat-tree: legal ways, and lanes for the few paths of switches
// without legal ways.
#pragma once

#include "control/subnet/routing/engines.h"

namespace tulle::control {

// `order` is as in ways.h. If it is empty or cuts hosts from one another, roots are chosen instead.
Routing route_in_order(const Subnet& subnet, const RoutingOptions& options,
                       std::vector<uint32_t> order, const std::vector<uint32_t>& homes);

}  // namespace tulle::control
