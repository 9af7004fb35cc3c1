// Symbols and libraries that a program needs and does not find when it runs with ours.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/run/environment.h"

namespace tulle::cli {

// The loader's messages about missing names, versions and libraries. The program does not run. An
// error if there is no such program, or it does not use the loader.
base::Result<std::vector<std::string>> missing_imports(const std::string& program,
                                                       const std::vector<Variable>& variables);

}  // namespace tulle::cli
