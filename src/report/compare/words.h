// Wraps long text to 100 columns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tulle::report {

// Lines after the first begin with `indent`.
std::string wrapped(std::string_view text, std::string_view indent);

// Shortens to at most this many characters, after a word, and adds dots.
std::string shortened(std::string_view text, size_t most);

// Splits a name into pieces of at most `width`, after a dash or a space if possible.
std::vector<std::string> pieces_of(std::string_view name, size_t width);

}  // namespace tulle::report
