// The counters of a run, printed at its end: `tulle run --verbose`.
#pragma once

#include <string>

namespace tulle::cli {

// The non-zero counters in this file as "name value", separated by commas; empty if there are none.
std::string counted_in(const std::string& counters_file);

}  // namespace tulle::cli
