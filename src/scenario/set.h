// `--set` on what files of other programs describe: HPCC's configurations and connection matrices.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "sim/setup.h"

namespace tulle::scenario {

// Settings of `fabric` and `hosts`, as in a scenario, on top of those of a setup that is complete
// otherwise. What is unknown, wrong, of no use or given twice is an error, and nothing is changed.
std::optional<base::Error> set_settings(
    const std::vector<std::pair<std::string, std::string>>& settings, sim::Setup& setup);

}  // namespace tulle::scenario
