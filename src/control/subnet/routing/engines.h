// Routing engines by name, a file each. An engine takes a subnet in any state, broken cables
// included, and gives every switch a port for every LID that it can reach. Where a fabric has not
// the shape that an engine is made for, it routes all the same, and its note says how.
#pragma once

#include <span>
#include <string_view>

#include "control/subnet/tables.h"

namespace tulle::control {

struct RoutingOptions {
    uint8_t max_lanes = 8;  // data lanes that switches have; what most have
};

struct RoutingEngine {
    std::string_view name;
    std::string_view what;
    bool is_deadlock_free;  // on every fabric
    Routing (*route)(const Subnet& subnet, const RoutingOptions& options);
};

std::span<const RoutingEngine> routing_engines();
// nullptr: there is none. The names of OpenSM's engines are known as well.
const RoutingEngine* routing_engine_named(std::string_view name);

// The engine that is made for the fabric's shape, and what it gives; dfsssp where none is.
struct ChosenRouting {
    const RoutingEngine* engine = nullptr;
    Routing routing;
};
ChosenRouting route_by_shape(const Subnet& subnet, const RoutingOptions& options);

// Shortest paths, spread over links. Buffers may wait in a circle where the fabric has one.
Routing route_min_hop(const Subnet& subnet, const RoutingOptions& options);
// Up to a common switch, then down (Schroeder et al., "Autonet", 1991).
Routing route_up_down(const Subnet& subnet, const RoutingOptions& options);
// Up and down by the tiers of a tree, hosts numbered from leaf to leaf: no link of a full tree
// carries two flows of a shift permutation.
Routing route_fat_tree(const Subnet& subnet, const RoutingOptions& options);
// Shortest paths; those that would wait in a circle take another lane (Domke, Hoefler and Nagel,
// "Deadlock-free oblivious routing for arbitrary topologies", 2011).
Routing route_dfsssp(const Subnet& subnet, const RoutingOptions& options);
// Tori and meshes: the dimensions one after the other. The service level says in which rings the
// path crosses the last switch; there it takes the second lane.
Routing route_dimension_order(const Subnet& subnet, const RoutingOptions& options);
// Dragonflies: at most one cable between groups; behind it packets take the second lane.
Routing route_dragonfly(const Subnet& subnet, const RoutingOptions& options);

}  // namespace tulle::control
