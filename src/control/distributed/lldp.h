// The frames of LLDP (IEEE 802.1AB) that every port sends, with what DCBX says about its lanes.
// What they settle does not change during a run (sim/negotiation.h), so only their times count.
#pragma once

#include <vector>

#include "control/history.h"

namespace tulle::control {

// The frames that leave all ports from `begin` to `end`, while `disturbances` happen. All cables
// got light at time 0; `disturbances` are ordered by time. A port notices light `light` later.
std::vector<ManagementSent> lldp_frames(const topology::Graph& graph,
                                        const std::vector<Disturbance>& disturbances,
                                        base::Duration light, base::Instant begin,
                                        base::Instant end);

}  // namespace tulle::control
