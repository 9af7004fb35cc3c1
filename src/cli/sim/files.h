// Input files of a simulation, whole and of a size that is worth reading.
#pragma once

#include <string>

#include "base/result.h"

namespace tulle::cli {

// The text of a file, or a sentence why there is none; - is standard input. What scenario rooms ask
// for files with.
base::Result<std::string> read_file(const std::string& path);

}  // namespace tulle::cli
