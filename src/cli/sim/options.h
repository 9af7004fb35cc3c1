// The input options that all commands share that simulate one run.
#pragma once

#include "cli/sim/input.h"

namespace tulle::cli {

class Command;

void add_sim_input(Command& command, SimInput& input);

}  // namespace tulle::cli
