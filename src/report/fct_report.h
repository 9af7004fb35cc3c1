// Flow completion times as the HPCC family of simulators writes them, so that its scripts read
// them: `sip dip sport dport size start fct ideal_fct`, addresses in hexadecimal, times in
// nanoseconds, in the order of completion. A flow that did not succeed has no line.
#pragma once

#include <string>

#include "report/facts.h"

namespace tulle::report {

std::string fct_report(const Facts& facts);

}  // namespace tulle::report
