// Matches names with patterns: `h1*` matches h1, h10 and h17; `?` matches any one letter.
#pragma once

#include <string_view>

namespace tulle::scenario {

constexpr bool matches(std::string_view pattern, std::string_view name) {
    size_t star = std::string_view::npos;  // the latest one, and where its part of the name ends
    size_t taken = 0;
    size_t p = 0;
    for (size_t n = 0; n < name.size();) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            taken = n;
        } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
            ++p;
            ++n;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            n = ++taken;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
}

}  // namespace tulle::scenario
