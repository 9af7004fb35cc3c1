// Whole files as text.
#pragma once

#include <string>

#include "base/result.h"

namespace tulle::cli {

// Everything in the file; - is standard input. What is larger than any file of settings is refused.
base::Result<std::string> read_file(const std::string& path);

}  // namespace tulle::cli
