// The options that say what is simulated, alike for every command that simulates one run.
#pragma once

#include "cli/sim/input.h"

namespace CLI {
class App;
}

namespace tulle::cli {

void add_sim_input(CLI::App& command, SimInput& input);

}  // namespace tulle::cli
