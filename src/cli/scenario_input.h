// What the commands that read scenarios share.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tulle::cli {

// A file that a scenario may be made of; what is too large is refused.
base::Result<std::string> read_text(const std::string& path);

// "key=value" of --set, as pairs.
base::Result<std::vector<std::pair<std::string, std::string>>> parse_settings(
    const std::vector<std::string>& settings);

}  // namespace tulle::cli
