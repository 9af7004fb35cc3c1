// The packets of tapped cables as a capture file that tcpdump, Wireshark and `tulle decode` open.
// Addresses are made from numbers: endpoint n is 10.0.0.0 + n + 1, LID n + 1, and its MAC and GID
// end with the number of its node.
#pragma once

#include <vector>

#include "sim/result.h"
#include "sim/setup.h"

namespace tulle::report {

std::vector<std::byte> capture_report(const sim::Setup& setup, const sim::Result& result);

}  // namespace tulle::report
