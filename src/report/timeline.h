// A run as a timeline that Perfetto and Chrome show (trace event format): a track a flow, and for
// each link its queues and rates as counters, pauses as slices, drops and marks as instants.
#pragma once

#include <string>

#include "report/facts.h"

namespace tulle::report {

std::string timeline(const Facts& facts);

}  // namespace tulle::report
