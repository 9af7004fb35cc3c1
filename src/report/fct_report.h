// Flow completion times in the format of the HPCC family of simulators, for its scripts: `sip dip
// sport dport size start fct ideal_fct`, addresses in hexadecimal, times in nanoseconds, in order
// of completion. A flow that failed has no line.
#pragma once

#include <string>

#include "report/facts.h"

namespace tulle::report {

std::string fct_report(const Facts& facts);

}  // namespace tulle::report
