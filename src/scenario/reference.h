// The reference of the language, docs/SCENARIO.md, printed from the tables that read it.
#pragma once

#include <string>

namespace tulle::scenario {

std::string reference();

}  // namespace tulle::scenario
