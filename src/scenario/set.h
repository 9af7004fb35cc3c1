// `--set` for files of other programs: HPCC's configurations and connection matrices.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "sim/setup.h"

namespace tulle::scenario {

// Applies settings of `fabric` and `hosts`, as in a scenario, to a setup that is otherwise
// complete. Unknown, wrong, useless or repeated settings are errors; then nothing is changed.
std::optional<base::Error> set_settings(
    const std::vector<std::pair<std::string, std::string>>& settings, sim::Setup& setup);

}  // namespace tulle::scenario
