#include "control/subnet/routing/tree_order.h"
#include "control/subnet/routing/up_down.h"
#include "control/subnet/routing/ways.h"

namespace tulle::control {
namespace {

bool is_a_tree(const Subnet& subnet, const std::vector<uint32_t>& rank) {
    for (uint32_t id = 0; id < subnet.link_count(); ++id) {
        const Subnet::Link& link = subnet.link(id);
        if (rank[link.from] == rank[link.to]) return false;
    }
    return true;
}

}  // namespace

Routing route_fat_tree(const Subnet& subnet, const RoutingOptions& options) {
    const std::vector<uint32_t> rank = ranks_of(subnet);
    Routing routing =
        route_in_order(subnet, options, order_by_rank(subnet), homes_in_tree_order(subnet));
    if (!is_a_tree(subnet, rank) && subnet.link_count() > 0)
        routing.note = "the fabric is no tree: its switches were ordered as for up-down";
    return routing;
}

}  // namespace tulle::control
