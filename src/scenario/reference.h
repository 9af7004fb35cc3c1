// Prints the reference of the language, docs/SCENARIO.md, from the tables that read it.
#pragma once

#include <string>

namespace tulle::scenario {

std::string reference();

}  // namespace tulle::scenario
