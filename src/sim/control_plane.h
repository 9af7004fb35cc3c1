// Runs the control plane of a setup, before any packet moves.
#pragma once

#include <memory>

#include "base/result.h"
#include "control/history.h"
#include "sim/setup.h"

namespace tulle::sim {

// The disturbances of a setup by time; those of one instant are in the order of the setup.
std::vector<control::Disturbance> disturbances_of(const Setup& setup);

// What the control plane does; null if tables are given.
base::Result<std::shared_ptr<const control::History>> run_control(const Setup& setup);

}  // namespace tulle::sim
