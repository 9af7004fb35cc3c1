// Tables that a control plane wrote, for switches that are written to while a run goes on.
#pragma once

#include <map>

#include "fabric/routes.h"

namespace tulle::fabric {

class RouteWriter {
public:
    // In place of a list: the hosts of the target are here.
    static constexpr uint32_t kHere = Routes::kLastHop;

    // Endpoints of one target have the same entries in all tables, but for the last hop.
    RouteWriter(const topology::Graph& graph, const std::vector<uint32_t>& target_of,
                uint32_t target_count);

    // A list of ports as tables have it.
    uint32_t list(std::span<const uint16_t> ports);
    void set(uint32_t node, uint32_t target, uint32_t list);
    // No list is made any more.
    Routes finish() &&;

private:
    void add_last_hops(const topology::Graph& graph, const std::vector<uint32_t>& target_of);

    Routes routes_;
    std::map<std::vector<uint16_t>, uint32_t> known_;
};

}  // namespace tulle::fabric
