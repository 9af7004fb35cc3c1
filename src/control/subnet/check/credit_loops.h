// Finds credit loops: cycles in which packets wait for one another's buffers for ever (Dally and
// Seitz, 1987). A link on a lane depends on another one if some path takes the second after the
// first. The check trusts no engine: it follows the tables, the service levels and the lane rule.
// Paths between switches are left out (routing/lanes.h).
#pragma once

#include <optional>
#include <vector>

#include "control/subnet/lane_dump.h"

namespace tulle::control {

struct CreditLoop {
    // A link on a lane, and a path that takes it and then the next one of the loop.
    struct Part {
        uint32_t link = 0;
        uint8_t lane = 0;
        uint32_t source = 0;  // a switch
        uint32_t lid = 0;
    };
    std::vector<Part> parts;  // the first one follows the last
};

// Requires tables without forwarding loops on paths that count.
std::optional<CreditLoop> find_credit_loop(const Subnet& subnet, const ForwardingTables& tables,
                                           const Lanes& lanes);
// By the lanes of dumps. Managers that assign levels, and ibdmchk(1), take only paths from host to
// host into account; those to and from a switch itself carry little.
enum class PathEnds : uint8_t { hosts, hosts_and_switches };
std::optional<CreditLoop> find_credit_loop(const Subnet& subnet, const ForwardingTables& tables,
                                           const DumpedLanes& lanes, PathEnds ends);

}  // namespace tulle::control
