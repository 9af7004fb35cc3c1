// Helpers to parse the text of policy files.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace tulle::control {

inline bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

inline std::string_view trimmed(std::string_view text) {
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    return text;
}

// The text before and after the first separator, trimmed. The second part is empty if there is no
// separator.
inline std::pair<std::string_view, std::string_view> split(std::string_view text, char separator) {
    const size_t at = text.find(separator);
    if (at == std::string_view::npos) return {trimmed(text), {}};
    return {trimmed(text.substr(0, at)), trimmed(text.substr(at + 1))};
}

// A whole number up to `most`, in decimal, or in hexadecimal with the prefix 0x.
inline std::optional<uint64_t> parse_whole(std::string_view text, uint64_t most) {
    const bool is_hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    if (is_hexadecimal) text.remove_prefix(2);
    uint64_t value = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), value, is_hexadecimal ? 16 : 10);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size() || value > most)
        return std::nullopt;
    return value;
}

}  // namespace tulle::control
