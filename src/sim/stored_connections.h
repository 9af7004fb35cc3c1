// What stored tasks use: connections, groups of switches that compute, and devices of their ranks.
#pragma once

#include <array>
#include <map>
#include <vector>

#include "sim/rank_part.h"

namespace tulle::sim {

struct StoredConnections {
    std::array<std::vector<Connection>, kTiers> connections;
    std::array<std::vector<SwitchGroup>, kTiers> groups;
    // By task: the connection of a message; the device of computing that takes turns.
    std::vector<uint32_t> of_task;
    uint32_t devices = 0;
    // The rank of an endpoint in a group between servers; by index of the group and endpoint.
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> rank_in_group;
};

StoredConnections connect_stored(const Setup& setup);

}  // namespace tulle::sim
