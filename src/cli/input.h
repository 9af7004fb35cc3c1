// Reads whole files as text.
#pragma once

#include <string>

#include "base/result.h"

namespace tulle::cli {

// Reads the whole file; "-" is standard input. Refuses files far larger than any settings file.
base::Result<std::string> read_file(const std::string& path);

}  // namespace tulle::cli
