// From a setup to what its control plane does, before any packet moves.
#pragma once

#include <memory>

#include "base/result.h"
#include "control/history.h"
#include "sim/setup.h"

namespace tulle::sim {

// By time, the order of the setup at one instant.
std::vector<control::Disturbance> disturbances_of(const Setup& setup);

// Null where tables are given.
base::Result<std::shared_ptr<const control::History>> run_control(const Setup& setup);

}  // namespace tulle::sim
