// What the cables of the hosts saw of a program, against what the program asks for: nobody sends
// before what it waits for can be known to it, each message arrives once, phases keep their order.
#pragma once

#include <string>

#include "sim/result.h"
#include "sim/setup.h"

namespace tulle::fabric_swarm {

// What is wrong, in one sentence; empty: nothing. All cables of hosts were tapped.
std::string check_program(const sim::Setup& setup, const sim::Result& result);

}  // namespace tulle::fabric_swarm
