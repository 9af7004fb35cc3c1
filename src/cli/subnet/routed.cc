#include "cli/subnet/routed.h"

#include <fmt/format.h>

#include <ctime>

#include "base/words.h"
#include "cli/input.h"
#include "control/subnet/dump.h"

namespace tulle::cli {
base::Error unknown_engine(std::string_view name) {
    std::vector<std::string_view> names;
    for (const control::RoutingEngine& engine : control::routing_engines())
        names.push_back(engine.name);
    return {fmt::format("there is no engine '{}'; {}", name,
                        base::did_you_mean(name, names, "the engines are " + base::joined(names)))};
}

base::Result<Routed> route_by_engine(const FabricWithFaults& fabric, const std::string& engine,
                                     uint8_t max_lanes, uint8_t lmc) {
    const topology::Graph& graph = fabric.graph;
    const control::RoutingEngine* const named = control::routing_engine_named(engine);
    if (!engine.empty() && named == nullptr) return unknown_engine(engine);
    const auto given = lmc == 0 ? control::given_lids(graph, fabric.lids) : std::nullopt;
    const auto owners = given ? base::Result(*given) : control::assign_lids(graph, lmc);
    if (!owners) return owners.error();
    auto subnet = control::Subnet::make(graph, *owners);
    if (!subnet) return subnet.error();
    const control::RoutingOptions options{.max_lanes = max_lanes};
    const std::clock_t start = std::clock();
    control::ChosenRouting chosen =
        named != nullptr ? control::ChosenRouting{named, named->route(*subnet, options)}
                         : control::route_by_shape(*subnet, options);
    const double seconds =
        static_cast<double>(std::clock() - start) / static_cast<double>(CLOCKS_PER_SEC);
    return Routed{std::move(*subnet), chosen.engine, std::move(chosen.routing), seconds,
                  given.has_value()};
}

base::Result<Routed> route_by_dumps(const topology::Graph& graph, const Dumps& dumps) {
    const auto content = read_file(dumps.tables);
    if (!content) return content.error();
    const auto dumped = control::read_lfts(*content, dumps.tables, graph);
    if (!dumped) return dumped.error();
    auto subnet = control::Subnet::make(graph, dumped->owners);
    if (!subnet) return subnet.error();
    Routed routed{std::move(*subnet), nullptr, {}, 0};
    routed.routing.tables = dumped->tables(routed.subnet);
    if (dumps.path_levels.empty() && dumps.sl2vl.empty()) return routed;
    control::DumpedLanes& lanes = routed.dumped_lanes.emplace(routed.subnet);
    if (!dumps.path_levels.empty()) {
        const auto levels = read_file(dumps.path_levels);
        if (!levels) return levels.error();
        if (auto error = lanes.read_path_levels(*levels, dumps.path_levels, graph, routed.subnet))
            return *error;
    }
    if (!dumps.sl2vl.empty()) {
        const auto maps = read_file(dumps.sl2vl);
        if (!maps) return maps.error();
        if (auto error = lanes.read_sl2vl(*maps, dumps.sl2vl, graph, routed.subnet)) return *error;
    }
    return routed;
}

}  // namespace tulle::cli
