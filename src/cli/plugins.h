// Congestion control from shared objects, named by --congestion or in a scenario.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "sim/setup.h"

namespace tulle::cli {

// Loads the plug-ins that the hosts of a setup use. The error says what is wrong with the file.
std::optional<base::Error> load_plugins(sim::Setup& setup);

// The value of --congestion as a setting, for --set.
std::string congestion_setting(const std::string& name);

}  // namespace tulle::cli
