#include "control/subnet/routing/balance.h"
#include "control/subnet/routing/engines.h"
#include "control/subnet/routing/lanes.h"

namespace tulle::control {

// Paths that are spread better may need more lanes; then those of the first choice may do.
Routing route_dfsssp(const Subnet& subnet, const RoutingOptions& options) {
    for (const Passes passes : {Passes::two, Passes::one}) {
        Routing routing;
        routing.tables = fill(subnet, ShortestWays(subnet), homes_in_order(subnet), passes).tables;
        auto lanes = assign_lanes(subnet, routing.tables, options.max_lanes);
        if (!lanes) continue;
        routing.lanes = std::move(*lanes);
        routing.is_deadlock_free = true;
        return routing;
    }
    Routing routing = route_up_down(subnet, options);
    routing.note = "shortest paths need more lanes than there are, so they go up and down";
    return routing;
}

}  // namespace tulle::control
