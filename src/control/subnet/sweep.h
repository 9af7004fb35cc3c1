// Routing that one manager directs: what a subnet manager does to the tables of switches while
// things break.
#pragma once

#include "base/result.h"
#include "control/history.h"
#include "control/subnet/world.h"

namespace tulle::control {

enum class SweepEngine : uint8_t { by_shape, min_hop, up_down };

struct SweepSettings {
    uint32_t manager = 0;      // the endpoint that it lives at
    uint32_t standby = kNone;  // another endpoint: takes over where the manager is gone
    SweepEngine engine = SweepEngine::by_shape;
    base::Duration light{1'000'000'000};  // 1 ms: from a change of a cable to its ends' knowing it
    base::Duration route{50'000};  // 50 ns for each entry of a table, when the manager routes
};

// `delays`: of each cable. `disturbances` are by time. Wrong where a manager cannot bring the
// fabric up.
base::Result<History> run_sweep(const topology::Graph& graph,
                                const std::vector<base::Duration>& delays,
                                const SweepSettings& settings,
                                const std::vector<Disturbance>& disturbances);

}  // namespace tulle::control
