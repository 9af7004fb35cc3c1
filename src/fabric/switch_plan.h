// What a switch is built from, and what happens to it from outside.
#pragma once

#include <span>
#include <vector>

#include "fabric/groups.h"
#include "fabric/port_choice.h"
#include "fabric/record.h"
#include "fabric/routes.h"
#include "fabric/settings.h"
#include "fabric/tenancy.h"

namespace tulle::fabric {

// The output ports of fixed paths, hop by hop; Transit::flow is the index.
using FixedPaths = std::vector<std::vector<uint16_t>>;

// An entry that a switch's own agent writes into its table: a list of ports of its Routes.
struct RouteEntry {
    uint32_t target = 0;
    uint32_t list = 0;
};

// Something that happens to a node from outside, at a known time.
struct NodeChange {
    enum class Kind : uint8_t { port_down, port_up, routes, entries, lanes, management };
    Instant at{};
    Kind kind = Kind::port_down;
    uint16_t port = 0;
    uint32_t bytes = 0;  // of management packets
    const Routes* routes = nullptr;
    std::span<const RouteEntry> entries{};
    std::span<const uint64_t> lanes{};
};

struct SwitchPlan {
    uint32_t node = 0;        // of the graph
    uint32_t first_port = 0;  // of the cabling
    uint16_t port_count = 0;
    uint64_t seed = 0;
    const Routes* routes = nullptr;
    const FixedPaths* paths = nullptr;
    const Groups* groups = nullptr;  // of this switch, complete before begin(); null: none
    GroupPlan dragonfly;             // without ways if there is none
    EtsSettings ets;
    std::vector<EtsSettings> port_ets;   // by port, as DCBX negotiated it; empty: `ets` for all
    const Settings* settings = nullptr;  // of this switch; null: the fabric's
    std::vector<EcnSettings> ecn;        // by port; empty: that of the settings for all
    bool never_marks = false;            // as an earlier run found
    std::vector<NodeChange> changes;     // by time
    // SL to VL: by input and output port, port 0 included, with four bits per service level. Empty:
    // packets stay on their lane.
    std::span<const uint64_t> lanes;
    std::vector<TraceSample>* trace = nullptr;
    const Tenancy* tenancy = nullptr;  // checked by ports of hosts; null: none
    std::vector<uint32_t> hosts;       // by port: the end point at it, or TenantGuard::kNoHost
    std::vector<uint32_t> neighbours;  // by port: the node there, if switches warn each other
};

}  // namespace tulle::fabric
