// How control planes are set up, as plain values.
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

enum class SystemScheme : uint8_t { by_tier, by_switch };

struct DistributedSettings {
    SpeakerSettings speaker{};
    SystemScheme systems = SystemScheme::by_tier;
    // From a cable's loss of light to the speaker's knowing it; zero: nobody tells, timers have to
    // find out. Chosen.
    base::Duration light{1'000'000'000};     // 1 ms
    base::Duration handle{50'000'000};       // 50 us
    base::Duration route{10'000'000};        // 10 us
    base::Duration send{10'000'000};         // 10 us
    base::Duration install{50'000'000};      // 50 us
    base::Duration resend{200'000'000'000};  // TCP sends again what was lost (Linux: TCP_RTO_MIN)
};

enum class SweepEngine : uint8_t { by_shape, min_hop, up_down };

struct SweepSettings {
    uint32_t manager = 0;                // the endpoint that it lives at
    uint32_t standby = topology::kNone;  // another one: takes over where the manager is gone
    SweepEngine engine = SweepEngine::by_shape;
    base::Duration light{1'000'000'000};  // as above; zero: at once
    base::Duration route{50'000};  // 50 ns for each entry of a table, when the manager routes
};

}  // namespace tulle::control
