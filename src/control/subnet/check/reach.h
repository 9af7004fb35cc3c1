// Follows forwarding tables from every switch to every LID: who gets there, and who goes in
// circles.
#pragma once

#include <cstdint>
#include <vector>

#include "control/subnet/tables.h"

namespace tulle::control {

inline constexpr size_t kMostExamples = 8;

// A path that does not arrive: from a switch, and so from the hosts on it, to a LID.
struct LostPath {
    uint32_t source = 0;
    uint32_t lid = 0;
    uint32_t stops_at = 0;  // the switch that sends it nowhere; of a circle: one that it passes
};

struct Reach {
    uint64_t host_pairs = 0;          // of different hosts that cables join
    uint64_t lost_host_pairs = 0;     // of them, those without a route
    uint64_t looping_host_pairs = 0;  // and those whose packets go in circles
    uint64_t lost_other = 0;          // the same of paths between a host and a switch
    uint64_t looping_other = 0;
    uint64_t lost_between_switches = 0;  // both ends are switches: nothing but management
    uint64_t looping_between_switches = 0;
    std::vector<LostPath> lost;  // a few of those with a host at an end
    std::vector<LostPath> looping;

    bool is_whole() const {
        return lost_host_pairs + looping_host_pairs + lost_other + looping_other == 0;
    }
};

Reach check_reach(const Subnet& subnet, const ForwardingTables& tables);

// The links from a switch to a LID, up to where the tables end or a switch comes again.
std::vector<uint32_t> path_of(const Subnet& subnet, const ForwardingTables& tables, uint32_t source,
                              uint32_t lid);

}  // namespace tulle::control
