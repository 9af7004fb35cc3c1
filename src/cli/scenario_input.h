// Helpers of all commands that read scenarios.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cli/command.h"

namespace tulle::cli {

// Reads a file that a scenario refers to. Too large a file is refused.
base::Result<std::string> read_text(const std::string& path);

// Reads the scenario that the command line names.
base::Result<std::string> read_scenario_text(const std::string& path);

// The options --skip and --check.
void add_skipping(Command& command, bool& skips, bool& checks);

// Splits "key=value" of --set into pairs.
base::Result<std::vector<std::pair<std::string, std::string>>> parse_settings(
    const std::vector<std::string>& settings);

}  // namespace tulle::cli
