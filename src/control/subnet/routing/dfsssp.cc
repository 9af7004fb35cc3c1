#include "control/subnet/routing/balance.h"
#include "control/subnet/routing/with_lanes.h"

namespace tulle::control {

Routing route_with_lanes(const Subnet& subnet, const RoutingOptions& options,
                         ForwardingTables tables) {
    if (auto lanes = assign_lanes(subnet, tables, options.max_lanes)) {
        Routing routing;
        routing.tables = std::move(tables);
        routing.lanes = std::move(*lanes);
        routing.is_deadlock_free = true;
        return routing;
    }
    Routing routing = route_up_down(subnet, options);
    routing.note = "shortest paths need more lanes than there are, so they go up and down";
    return routing;
}

Routing route_dfsssp(const Subnet& subnet, const RoutingOptions& options) {
    return route_with_lanes(subnet, options,
                            fill(subnet, ShortestWays(subnet), homes_in_order(subnet)).tables);
}

}  // namespace tulle::control
