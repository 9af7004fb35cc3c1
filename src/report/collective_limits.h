// A lower bound for the time of a collective, from the links alone.
//
// The bound counts what must cross a cut, so no algorithm beats it: everything that a server does
// not have must come in over its adapters. For an all-reduce among S servers, whose ranks reduce
// among themselves first, that is 2(S - 1) times the buffer in total (Patarasuk and Yuan,
// "Bandwidth optimal all-reduce algorithms", 2009). If a phase never leaves the servers, the cut is
// around each rank. A switch that computes changes the count to one buffer out and one in. If both
// networks are used, ranks also cannot send more than all their ports together carry; with two
// servers that limits rings, not the adapters.
#pragma once

#include <vector>

#include "sim/setup.h"

namespace tulle::report {

// One for each phase of the program.
std::vector<base::Duration> collective_limits(const sim::Setup& setup);

}  // namespace tulle::report
