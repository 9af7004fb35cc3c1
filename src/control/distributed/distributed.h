// Routing that nobody directs: what switches that speak BGP do to their tables while things break.
#pragma once

#include "base/result.h"
#include "control/distributed/fabric_of_speakers.h"
#include "control/history.h"

namespace tulle::control {

// `delays`: of each cable. `disturbances` are by time. Wrong where routes do not settle.
base::Result<History> run_distributed(const topology::Graph& graph,
                                      const std::vector<base::Duration>& delays,
                                      const DistributedSettings& settings,
                                      const std::vector<Disturbance>& disturbances);

}  // namespace tulle::control
