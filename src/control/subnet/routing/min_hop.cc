#include "control/subnet/routing/balance.h"
#include "control/subnet/routing/engines.h"

namespace tulle::control {

Routing route_min_hop(const Subnet& subnet, const RoutingOptions&) {
    Routing routing;
    routing.tables = fill(subnet, ShortestWays(subnet), homes_in_order(subnet)).tables;
    return routing;
}

}  // namespace tulle::control
