// Long text in lines of at most 100 columns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tulle::report {

// Lines after the first begin with `indent`; the first as the text does.
std::string wrapped(std::string_view text, std::string_view indent);

// At most so many characters, cut behind a word and then with dots.
std::string shortened(std::string_view text, size_t most);

// A name in pieces of at most `width`, cut behind a dash or a space where there is one.
std::vector<std::string> pieces_of(std::string_view name, size_t width);

}  // namespace tulle::report
