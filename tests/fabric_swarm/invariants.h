// What must hold between any two windows, whatever the settings: every packet is counted where it
// is, nobody takes more room than there is, and nothing happens in the past.
#pragma once

#include <string>

#include "sim/setup.h"
#include "sim/simulation.h"

namespace tulle::fabric_swarm {

// What is wrong, in one sentence; empty: nothing.
std::string check_between_windows(const sim::Setup& setup, sim::Simulation& simulation);

// And once nothing is left to happen.
std::string check_at_rest(const sim::Setup& setup, sim::Simulation& simulation);

}  // namespace tulle::fabric_swarm
