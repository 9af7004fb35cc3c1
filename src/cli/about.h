// What a page says about its origin: the date, the version and command of the program, the
// scenario.
#pragma once

#include <string>

#include "report/page/frame.h"

namespace tulle::cli {

// main calls this once.
void remember_command(int argc, const char* const* argv);

// `file` is empty for a built-in scenario. A very long `text` is left out.
report::About about(const std::string& file, std::string text);

}  // namespace tulle::cli
