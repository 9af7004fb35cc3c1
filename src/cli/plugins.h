// Congestion control that is in a file: --congestion, and what a scenario names.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "sim/setup.h"

namespace tulle::cli {

// Loads what the hosts of a setup use. A sentence says what is wrong with the file.
std::optional<base::Error> load_plugins(sim::Setup& setup);

// --congestion as a setting, for --set.
std::string congestion_setting(const std::string& name);

}  // namespace tulle::cli
