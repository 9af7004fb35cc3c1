// Routing that one manager directs: what a subnet manager does to the tables of switches while
// things break.
#pragma once

#include "base/result.h"
#include "control/history.h"
#include "control/settings.h"

namespace tulle::control {

// `delays`: of each cable. `disturbances` are by time. Wrong where a manager cannot bring the
// fabric up.
base::Result<History> run_sweep(const topology::Graph& graph,
                                const std::vector<base::Duration>& delays,
                                const SweepSettings& settings,
                                const std::vector<Disturbance>& disturbances);

}  // namespace tulle::control
