#include "control/subnet/routing/balance.h"
#include "control/subnet/routing/engines.h"
#include "control/subnet/routing/lane_packing.h"
#include "control/subnet/routing/lanes.h"

namespace tulle::control {
namespace {

// Breaking cycles is fast, and good when few lanes are needed; otherwise packing may need fewer.
std::optional<Lanes> fewest_lanes(const Subnet& subnet, const ForwardingTables& tables,
                                  uint8_t max_lanes) {
    constexpr uint8_t kFew = 2;
    auto lanes = assign_lanes(subnet, tables, max_lanes);
    if (lanes && lanes->count <= kFew) return lanes;
    auto packed = pack_lanes(subnet, tables, max_lanes);
    return packed && (!lanes || packed->count < lanes->count) ? packed : lanes;
}

}  // namespace

// Better spread paths may need more lanes than there are; paths of a single pass may need fewer.
Routing route_dfsssp(const Subnet& subnet, const RoutingOptions& options) {
    for (const Passes passes : {Passes::several, Passes::one}) {
        Routing routing;
        routing.tables = fill(subnet, ShortestWays(subnet), homes_in_order(subnet), passes).tables;
        auto lanes = fewest_lanes(subnet, routing.tables, options.max_lanes);
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
