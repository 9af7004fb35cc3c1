// A fabric with its forwarding tables, by an engine or from a dump.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "control/subnet/routing/engines.h"

namespace tulle::cli {

struct Routed {
    control::Subnet subnet;
    const control::RoutingEngine* engine = nullptr;  // none: the tables are from a dump
    control::Routing routing;
    double cpu_seconds = 0;  // of routing
};

// `engine` empty: the one that is made for the fabric's shape.
base::Result<Routed> route_by_engine(const topology::Graph& graph, const std::string& engine,
                                     uint8_t max_lanes);
base::Result<Routed> route_by_dump(const topology::Graph& graph, const std::string& file);

}  // namespace tulle::cli
