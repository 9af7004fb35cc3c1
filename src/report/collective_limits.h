// What a collective takes at least, from the links alone.
//
// A lower bound that no algorithm beats is a count of what must cross a cut: everything that a
// server does not have must come in over its adapters. For an all-reduce among S servers, whose
// ranks reduce among themselves first, that is 2(S - 1) times the buffer in all (Patarasuk and
// Yuan, "Bandwidth optimal all-reduce algorithms", 2009). Where a phase never leaves the servers
// the cut is around each rank; a switch that computes changes the count to one buffer out and one
// in. Where both networks are used, ranks must also send as much as all their ports together carry:
// with two servers that, and not the adapters, is what holds rings back.
#pragma once

#include <vector>

#include "sim/setup.h"

namespace tulle::report {

// One for each phase of the program.
std::vector<base::Duration> collective_limits(const sim::Setup& setup);

}  // namespace tulle::report
