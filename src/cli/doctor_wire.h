// Checks for `tulle run --listen`: the port, the firewall, interfaces, offloads.
#pragma once

#include <vector>

#include "cli/finding.h"

namespace tulle::cli {

std::vector<Finding> look_at_wire();

}  // namespace tulle::cli
