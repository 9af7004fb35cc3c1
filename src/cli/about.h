// What a page says of its own making: when, by which program, of what.
#pragma once

#include <string>

#include "report/page/frame.h"

namespace tulle::cli {

// To be told once, by main.
void remember_command(int argc, const char* const* argv);

// `file` is empty where the scenario is built in. Its text is left out where it is very long.
report::About about(const std::string& file, std::string text);

}  // namespace tulle::cli
