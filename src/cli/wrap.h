// Wraps lines to the width of a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tulle::cli {

// Breaks lines longer than `columns` between words, as far as words allow. Continuation lines are
// indented by two more columns.
std::string wrap(std::string_view text, size_t columns);

// The width of the terminal on standard output; 0 if it is not a terminal or does not say.
size_t terminal_columns();

}  // namespace tulle::cli
