// Checks a policy of partitions on a fabric: unknown names, and members that can talk to nobody.
#pragma once

#include <string>
#include <vector>

#include "control/subnet/policy/partitions.h"
#include "topology/graph.h"

namespace tulle::control {

struct UnknownMember {
    std::string partition;
    std::string name;
    size_t line = 0;
};

struct PartitionCheck {
    uint64_t pairs = 0;           // all pairs of hosts
    uint64_t pairs_that_may = 0;  // those that may talk
    std::vector<UnknownMember> unknown;
    std::vector<std::string> without_full_member;  // partitions whose members all are limited
    std::vector<uint32_t> isolated;                // hosts that may talk to no other host
    std::vector<uint32_t> without_manager;         // hosts that share no key with the manager's
    std::vector<uint32_t> too_many;                // nodes with more keys than a table can hold
};

// The manager runs at the first host. `guids`: of nodes; a host's port has its node's GUID + 1.
PartitionCheck check_partitions(const topology::Graph& graph, const std::vector<uint64_t>& guids,
                                const PartitionPolicy& policy);

}  // namespace tulle::control
