// Follows forwarding tables from every switch to every LID, and counts paths that end or loop.
#pragma once

#include <cstdint>
#include <vector>

#include "control/subnet/tables.h"

namespace tulle::control {

inline constexpr size_t kMostExamples = 8;

// A path from a switch, and so from its hosts, that does not reach a LID.
struct LostPath {
    uint32_t source = 0;
    uint32_t lid = 0;
    uint32_t stops_at = 0;  // the switch without a route, or one in the loop
};

struct Reach {
    uint64_t host_pairs = 0;          // pairs of different hosts that cables join
    uint64_t lost_host_pairs = 0;     // those without a route
    uint64_t looping_host_pairs = 0;  // those whose packets loop
    uint64_t lost_other = 0;          // the same for paths between a host and a switch
    uint64_t looping_other = 0;
    uint64_t lost_between_switches = 0;  // both ends are switches: only management
    uint64_t looping_between_switches = 0;
    uint64_t apart_host_pairs = 0;  // pairs of hosts that no cables join
    uint32_t pieces = 0;            // of switches that cables join, with a host at least
    std::vector<LostPath> lost;     // examples, each with a host at an end
    std::vector<LostPath> looping;

    bool is_whole() const {
        return lost_host_pairs + looping_host_pairs + lost_other + looping_other == 0;
    }
};

Reach check_reach(const Subnet& subnet, const ForwardingTables& tables);

// Parts with hosts that no cables join to one another.
uint32_t count_pieces(const Subnet& subnet);

// The links from a switch to a LID, until the tables end or a switch repeats.
std::vector<uint32_t> path_of(const Subnet& subnet, const ForwardingTables& tables, uint32_t source,
                              uint32_t lid);

}  // namespace tulle::control
