#include "control/subnet/routing/up_down.h"

#include "control/subnet/routing/balance.h"
#include "control/subnet/routing/lanes.h"

namespace tulle::control {

Routing route_in_order(const Subnet& subnet, const RoutingOptions& options,
                       std::vector<uint32_t> order, const std::vector<uint32_t>& homes) {
    Routing routing;
    Filled filled;
    filled.detours.joins_hosts = true;
    const bool has_tiers = !order.empty();
    if (has_tiers) filled = fill(subnet, UpDownWays(subnet, order), homes);
    if (filled.detours.joins_hosts) {
        order = order_from_roots(subnet);
        filled = fill(subnet, UpDownWays(subnet, order), homes);
        if (has_tiers)
            routing.note = "broken cables leave tiers apart, so one switch was taken as the root";
    }
    routing.tables = std::move(filled.tables);
    routing.order = std::move(order);
    routing.has_detours = filled.detours.joins_any;
    routing.is_deadlock_free = true;
    // Only packets to or from a switch itself take detours: a spine that lost its cable to a leaf
    // has to go down and up again. On a lane of their own they block no other packet.
    if (routing.has_detours) {
        auto lanes = assign_lanes_to_detours(subnet, routing.tables, routing.order, filled.detoured,
                                             options.max_lanes);
        routing.is_deadlock_free = lanes.has_value();
        if (lanes) routing.lanes = std::move(*lanes);
    }
    return routing;
}

Routing route_up_down(const Subnet& subnet, const RoutingOptions& options) {
    Routing routing =
        route_in_order(subnet, options, order_by_rank(subnet), homes_in_order(subnet));
    routing.note.clear();
    return routing;
}

}  // namespace tulle::control
