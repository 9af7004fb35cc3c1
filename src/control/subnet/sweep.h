// Routing directed by a subnet manager: what it writes to the tables of switches while parts of the
// fabric fail and come back.
#pragma once

#include <array>

#include "base/result.h"
#include "control/history.h"
#include "control/settings.h"

namespace tulle::control {

// `delays`: one for each cable. `disturbances` are ordered by time. `losses`: for each cable, how
// many MADs of 10^12 are lost on the way from its first end, and from its second; empty: none. An
// error if a manager cannot bring the fabric up.
base::Result<History> run_sweep(const topology::Graph& graph,
                                const std::vector<base::Duration>& delays,
                                const SweepSettings& settings,
                                const std::vector<Disturbance>& disturbances,
                                const std::vector<std::array<uint64_t, 2>>& losses = {},
                                uint64_t seed = 1);

}  // namespace tulle::control
