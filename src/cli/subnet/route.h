// `tulle subnet route`: the forwarding tables of a fabric, by an engine.
#pragma once

#include <cstdint>
#include <string>

namespace tulle::cli {

struct RouteOptions {
    std::string fabric;
    std::string engine;  // empty: the one that is made for the fabric's shape
    std::string json_file;
    std::string dump_file;
    uint32_t lanes = 8;
};

int route_subnet(const RouteOptions& options);

}  // namespace tulle::cli
