// Settings of control planes, as plain values.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "topology/graph.h"

namespace tulle::control {

struct SpeakerSettings {
    // SONiC: 60 s and 180 s (sonic-net/SONiC issue 180; sonic-buildimage pull request 2099).
    base::Duration keepalive{60'000'000'000'000};
    base::Duration hold{180'000'000'000'000};
    base::Duration start_delay{1'000'000'000'000};  // FRR bgpd.h: BGP_INIT_START_TIMER, 1 s
    base::Duration retry{10'000'000'000'000};  // FRR issue 4745: 10 s, compiled for data centres
    base::Duration bfd{};                      // between hellos; zero: no BFD
    uint8_t bfd_multiplier = 3;                // FRR bfd.h: BFD_DEFDETECTMULT
};

// The rapid spanning tree protocol (IEEE 802.1D-2004, 17.14, table 17-1: recommended values).
struct BridgeSettings {
    base::Duration hello{2'000'000'000'000};
    base::Duration max_age{20'000'000'000'000};
    base::Duration forward_delay{15'000'000'000'000};
    base::Duration migrate{3'000'000'000'000};  // also how long a port waits before it is an edge
    uint8_t hold_count = 6;                     // BPDUs that a port sends in a second
};

// The protocol that switches speak when no manager directs them.
enum class Protocol : uint8_t { bgp, spanning_tree };

enum class SystemScheme : uint8_t { by_tier, by_switch };

struct DistributedSettings {
    Protocol protocol = Protocol::bgp;
    SpeakerSettings speaker{};
    BridgeSettings bridge{};
    SystemScheme systems = SystemScheme::by_tier;
    // How long a speaker takes to notice that a cable lost light. Zero: it is not told, and has to
    // wait for its timers. Chosen.
    base::Duration light{1'000'000'000};     // 1 ms
    base::Duration handle{50'000'000};       // 50 us
    base::Duration route{10'000'000};        // 10 us
    base::Duration send{10'000'000};         // 10 us
    base::Duration install{50'000'000};      // 50 us
    base::Duration resend{200'000'000'000};  // TCP's retransmit timeout (Linux: TCP_RTO_MIN)
};

enum class SweepEngine : uint8_t { by_shape, min_hop, up_down };

struct SweepSettings {
    uint32_t manager = 0;                // the endpoint that it runs at
    uint32_t standby = topology::kNone;  // of the manager that takes over from the first
    SweepEngine engine = SweepEngine::by_shape;
    base::Duration light{1'000'000'000};  // until the ends notice a change of light; zero: at once
    base::Duration route{50'000};         // 50 ns for each table entry that the manager computes
    bool adaptive = false;                // groups of equally good ports, besides the tables
};

}  // namespace tulle::control
