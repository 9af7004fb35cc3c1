// Routing engines by name, each in its own file. An engine takes a subnet in any state, broken
// cables included, and gives every switch a port for every LID that it can reach. If the fabric
// does not have the shape that the engine is made for, it still routes, and its note says how.
#pragma once

#include <span>
#include <string_view>

#include "control/subnet/tables.h"

namespace tulle::control {

struct RoutingOptions {
    uint8_t max_lanes = 8;  // data lanes that switches have; most have 8
};

struct RoutingEngine {
    std::string_view name;
    std::string_view what;
    bool is_deadlock_free;  // on every fabric
    Routing (*route)(const Subnet& subnet, const RoutingOptions& options);
};

std::span<const RoutingEngine> routing_engines();
// The engine with this name, or with OpenSM's name for it; nullptr: there is none.
const RoutingEngine* routing_engine_named(std::string_view name);

// The engine made for the fabric's shape, and its result; dfsssp if no engine is.
struct ChosenRouting {
    const RoutingEngine* engine = nullptr;
    Routing routing;
};
ChosenRouting route_by_shape(const Subnet& subnet, const RoutingOptions& options);

// Shortest paths, spread over links. Credit loops are possible in a fabric with cycles.
Routing route_min_hop(const Subnet& subnet, const RoutingOptions& options);
// Paths go up to a common switch, then down (Schroeder et al., "Autonet", 1991).
Routing route_up_down(const Subnet& subnet, const RoutingOptions& options);
// Paths go up and down the tiers of a tree. Hosts are numbered from leaf to leaf, so no link of a
// full tree carries two flows of a shift permutation.
Routing route_fat_tree(const Subnet& subnet, const RoutingOptions& options);
// Shortest paths; those that would close a credit loop take another lane (Domke, Hoefler and Nagel,
// "Deadlock-free oblivious routing for arbitrary topologies", 2011).
Routing route_dfsssp(const Subnet& subnet, const RoutingOptions& options);
// Tori and meshes: one dimension after the other. The service level marks the rings in which the
// path passes between the last switch and the first; there the path takes the second lane.
Routing route_dimension_order(const Subnet& subnet, const RoutingOptions& options);
// Dragonflies: paths cross at most one cable between groups, and take the second lane after it.
Routing route_dragonfly(const Subnet& subnet, const RoutingOptions& options);

}  // namespace tulle::control
