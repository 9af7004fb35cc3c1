// `tulle subnet route`: computes the forwarding tables of a fabric.
#pragma once

#include <cstdint>
#include <string>

namespace tulle::cli {

struct RouteOptions {
    std::string fabric;
    std::string engine;  // empty: chosen by the topology
    std::string json_file;
    std::string dump_file;
    std::string path_levels_file;
    std::string sl2vl_file;
    uint32_t lanes = 8;
    uint32_t lmc = 0;
};

int route_subnet(const RouteOptions& options);

}  // namespace tulle::cli
