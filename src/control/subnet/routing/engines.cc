#include "control/subnet/routing/engines.h"

#include <array>

namespace tulle::control {
namespace {

constexpr std::array kEngines{
    RoutingEngine{"min-hop", "shortest paths, spread over links", false, route_min_hop},
    RoutingEngine{"up-down", "up to a common switch, then down", true, route_up_down},
    RoutingEngine{"fat-tree", "up and down by tiers, without conflicts in shifts", true,
                  route_fat_tree},
    RoutingEngine{"dfsssp", "shortest paths on as many lanes as it takes", true, route_dfsssp},
    RoutingEngine{"dimension-order", "tori and meshes, a dimension after the other", true,
                  route_dimension_order},
    RoutingEngine{"dragonfly", "at most one cable between groups", true, route_dragonfly},
};

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kNamesOfOpenSm{{
    {"minhop", "min-hop"},
    {"updn", "up-down"},
    {"ftree", "fat-tree"},
    {"dor", "dimension-order"},
}};

}  // namespace

std::span<const RoutingEngine> routing_engines() {
    return kEngines;
}

const RoutingEngine* routing_engine_named(std::string_view name) {
    for (const auto& [theirs, ours] : kNamesOfOpenSm)
        if (name == theirs) name = ours;
    for (const RoutingEngine& engine : kEngines)
        if (engine.name == name) return &engine;
    return nullptr;
}

ChosenRouting route_by_shape(const Subnet& subnet, const RoutingOptions& options) {
    for (const std::string_view name : {"fat-tree", "dimension-order", "dragonfly"}) {
        const RoutingEngine* const engine = routing_engine_named(name);
        Routing routing = engine->route(subnet, options);
        if (routing.note.empty()) return {engine, std::move(routing)};
    }
    return {routing_engine_named("dfsssp"), route_dfsssp(subnet, options)};
}

}  // namespace tulle::control
