// Builds sentences and files from words and numbers, and splits lines into words.
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tulle::topology {

inline void append(std::string& out, std::string_view part) {
    out += part;
}
template <std::integral Number>
void append(std::string& out, Number number) {
    out += std::to_string(number);
}
inline void append(std::string& out, char c) {
    out += c;
}

// text("port ", 3) is "port 3".
template <class... Parts>
std::string text(const Parts&... parts) {
    std::string out;
    (append(out, parts), ...);
    return out;
}

// The whole text as a number, or nothing.
template <std::unsigned_integral Number>
std::optional<Number> parse_number(std::string_view digits, int base = 10) {
    Number value = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stopped, error] = std::from_chars(digits.data(), end, value, base);
    if (error != std::errc{} || stopped != end) return std::nullopt;
    return value;
}

inline std::vector<std::string_view> split(std::string_view line, char separator) {
    std::vector<std::string_view> parts;
    while (true) {
        const size_t at = line.find(separator);
        parts.push_back(line.substr(0, at));
        if (at == std::string_view::npos) return parts;
        line.remove_prefix(at + 1);
    }
}

inline constexpr std::string_view kBlanks = " \t\r\v\f";

// The words between blanks, without empty ones.
inline std::vector<std::string_view> words_of(std::string_view line) {
    std::vector<std::string_view> words;
    size_t at = line.find_first_not_of(kBlanks);
    while (at != std::string_view::npos) {
        const size_t end = line.find_first_of(kBlanks, at);
        words.push_back(line.substr(at, end - at));
        at = line.find_first_not_of(kBlanks, end);
    }
    return words;
}

}  // namespace tulle::topology
