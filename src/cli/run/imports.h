// What a program asks of libraries and does not find, as the loader sees it when it runs with ours.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/run/environment.h"

namespace tulle::cli {

// Sentences of the loader about names, versions and libraries that are missing. The program does
// not run. An error if there is no such program, or the loader has no part in it.
base::Result<std::vector<std::string>> missing_imports(const std::string& program,
                                                       const std::vector<Variable>& variables);

}  // namespace tulle::cli
