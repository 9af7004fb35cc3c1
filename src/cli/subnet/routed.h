// A fabric with its forwarding tables, from an engine or a dump.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/fabric_input.h"
#include "control/subnet/lane_dump.h"
#include "control/subnet/routing/engines.h"

namespace tulle::cli {

struct Routed {
    control::Subnet subnet;
    const control::RoutingEngine* engine = nullptr;  // null: the tables are from a dump
    control::Routing routing;
    double cpu_seconds = 0;       // spent on routing
    bool has_given_lids = false;  // those of the file
    std::optional<control::DumpedLanes> dumped_lanes{};
};

base::Error unknown_engine(std::string_view name);

// An empty `engine` means: chosen by the topology. LIDs are those of the file if it gives all, and
// `lmc` is 0.
base::Result<Routed> route_by_engine(const FabricWithFaults& fabric, const std::string& engine,
                                     uint8_t max_lanes, uint8_t lmc = 0);
// What a manager wrote, by the names of files. Without the last two all packets share one lane.
struct Dumps {
    std::string tables;
    std::string path_levels;
    std::string sl2vl;
};
base::Result<Routed> route_by_dumps(const topology::Graph& graph, const Dumps& dumps);

}  // namespace tulle::cli
