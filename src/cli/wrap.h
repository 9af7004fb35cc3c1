// Lines for a terminal that is narrower than they are.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tulle::cli {

// The same text with no line longer than so many columns, where its words allow that. A line breaks
// between words, and goes on two columns further in.
std::string wrap(std::string_view text, size_t columns);

// Columns of the terminal that standard output is; 0: it is none, or does not say.
size_t terminal_columns();

}  // namespace tulle::cli
