// Routing without a manager: what switches with BGP or a spanning tree do to their tables while
// parts of the fabric fail and come back.
#pragma once

#include "base/result.h"
#include "control/history.h"
#include "control/settings.h"

namespace tulle::control {

// `delays` and `rates_bps`: one for each cable; a spanning tree prefers fast ones. `disturbances`
// are ordered by time. An error if routes do not settle.
base::Result<History> run_distributed(const topology::Graph& graph,
                                      const std::vector<base::Duration>& delays,
                                      const std::vector<uint64_t>& rates_bps,
                                      const DistributedSettings& settings,
                                      const std::vector<Disturbance>& disturbances);

}  // namespace tulle::control
