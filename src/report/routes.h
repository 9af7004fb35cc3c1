// Shortest paths between hosts: the base of a flow's ideal time, and the ports that a flow may have
// crossed. A result does not say which of several equal paths a flow took.
//
// Distances are kept per switch with hosts, not per host: in a fat tree of 8,192 hosts that is 512
// searches instead of 8,192.
#pragma once

#include <vector>

#include "topology/graph.h"

namespace tulle::report {

class Routes {
public:
    explicit Routes(const topology::Graph& graph);

    // The sending ends of the cables from one host node to another, by the first of equal ports.
    // Empty if there is no path.
    std::vector<topology::CableEnd> path(uint32_t source, uint32_t destination) const;

    // True if one of the shortest paths leaves by this port.
    bool may_cross(uint32_t source, uint32_t destination, topology::CableEnd port) const;

    // Ports of a switch that lead to a host by paths of equal length.
    std::vector<uint16_t> next_ports(uint32_t node, uint32_t destination) const;

    // Two hosts with the same gate are equal for every node but the gate.
    uint32_t gate_of(uint32_t host) const { return gates_[host]; }

private:
    static constexpr uint32_t kFar = 0xffff'ffff;

    uint32_t find_gate(uint32_t host) const;
    uint32_t distance(uint32_t node, uint32_t host) const;
    const std::vector<uint32_t>& distances(uint32_t gate) const;

    const topology::Graph* graph_;
    topology::Ports ports_;
    std::vector<uint32_t> gates_;                           // of each node
    mutable std::vector<std::vector<uint32_t>> from_gate_;  // filled on demand
};

}  // namespace tulle::report
