// What the processes of a run have counted, when it is over: `tulle run --verbose`.
#pragma once

#include <string>

namespace tulle::cli {

// The counters in this file that are not zero, "name value" with commas between; empty if there
// are none.
std::string counted_in(const std::string& counters_file);

}  // namespace tulle::cli
