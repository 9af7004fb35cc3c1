// Routing tables written by a control plane, for switches whose entries change during a run.
#pragma once

#include <map>

#include "fabric/routes.h"

namespace tulle::fabric {

class RouteWriter {
public:
    // In place of a list: the target's hosts are attached here.
    static constexpr uint32_t kHere = Routes::kLastHop;

    // Endpoints of one target have the same entries in all tables, except for the last hop.
    RouteWriter(const topology::Graph& graph, const std::vector<uint32_t>& target_of,
                uint32_t target_count);

    // Adds a list of ports to the tables, once, and returns its number.
    uint32_t list(std::span<const uint16_t> ports);
    void set(uint32_t node, uint32_t target, uint32_t list);
    // Ends the writing: no more lists can be added.
    Routes finish() &&;

private:
    void add_last_hops(const topology::Graph& graph, const std::vector<uint32_t>& target_of);

    Routes routes_;
    std::map<std::vector<uint16_t>, uint32_t> known_;
};

}  // namespace tulle::fabric
