// Prints every field of every header, as text and as JSON. The type of a field decides the form:
// addresses in their usual notation, keys and identifiers in hexadecimal, counts in decimal.
// Nothing here knows a header by name; all that wire describes is shown.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>

#include "wire/frame.h"
#include "wire/text.h"

namespace tulle::decode {

template <class T>
concept Address = std::is_same_v<T, wire::Gid> || std::is_same_v<T, wire::Ipv4Address> ||
    std::is_same_v<T, wire::MacAddress>;

template <class T>
concept TwentyFourBits = std::is_same_v<T, wire::Qpn> || std::is_same_v<T, wire::Psn> ||
    std::is_same_v<T, wire::EeContext> || std::is_same_v<T, wire::SrqNumber>;

inline std::string hex_of(std::span<const uint8_t> bytes) {
    std::string text;
    for (const uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
    return text;
}

// Names in management datagrams end at the first zero.
template <class T>
concept Text = wire::layout::IsArray<T>::value && std::is_same_v<typename T::value_type, char>;

template <Text T>
std::string text_of(const T& value) {
    std::string text;
    for (const char c : value) {
        if (c == '\0') break;
        text += c >= ' ' && c <= '~' ? c : '.';
    }
    return text;
}

template <class T>
std::string field_text(const T& value) {
    if constexpr (Address<T>) {
        return wire::to_string(value);
    } else if constexpr (Text<T>) {
        return fmt::format("\"{}\"", text_of(value));
    } else if constexpr (TwentyFourBits<T>) {
        return fmt::format("0x{:06x}", value.value);
    } else if constexpr (std::is_same_v<T, wire::Lid>) {
        return fmt::format("{}", value.value);
    } else if constexpr (wire::Header<T>) {
        std::string text = "{";
        wire::for_each_field(value, [&](const char* name, const auto& inner) {
            text += fmt::format("{}{} {}", text.size() > 1 ? ", " : "", name, field_text(inner));
        });
        text += '}';
        return text;
    } else if constexpr (wire::layout::HasValue<T>) {
        return fmt::format("0x{:0{}x}", value.value, 2 * sizeof(value.value));
    } else if constexpr (wire::layout::HasBytes<T>) {
        return field_text(value.bytes);
    } else if constexpr (std::is_same_v<T, bool>) {
        return value ? "1" : "0";
    } else if constexpr (std::is_enum_v<T>) {
        return fmt::format("{}", static_cast<uint64_t>(value));
    } else if constexpr (wire::layout::IsArray<T>::value) {
        if constexpr (std::is_same_v<typename T::value_type, uint8_t>) return hex_of(value);
        std::string text;
        for (const auto& element : value) {
            if (!text.empty()) text += ' ';
            text += field_text(element);
        }
        return text;
    } else {
        return fmt::format("{}", value);
    }
}

// Identifiers and keys are integers. 64-bit ones are hexadecimal strings, because most readers of
// JSON keep numbers only up to 2^53.
template <class T>
nlohmann::ordered_json field_json(const T& value) {
    if constexpr (wire::Header<T>) {
        nlohmann::ordered_json object = nlohmann::ordered_json::object();
        wire::for_each_field(
            value, [&](const char* name, const auto& inner) { object[name] = field_json(inner); });
        return object;
    } else if constexpr (wire::layout::HasValue<T>) {
        if constexpr (sizeof(value.value) == 8) return fmt::format("0x{:x}", value.value);
        return value.value;
    } else if constexpr (Address<T>) {
        return wire::to_string(value);
    } else if constexpr (Text<T>) {
        return text_of(value);
    } else if constexpr (wire::layout::HasBytes<T>) {
        return field_json(value.bytes);
    } else if constexpr (std::is_enum_v<T>) {
        return static_cast<uint64_t>(value);
    } else if constexpr (wire::layout::IsArray<T>::value) {
        if constexpr (std::is_same_v<typename T::value_type, uint8_t>) return hex_of(value);
        nlohmann::ordered_json list = nlohmann::ordered_json::array();
        for (const auto& element : value) list.push_back(field_json(element));
        return list;
    } else {
        return value;
    }
}

}  // namespace tulle::decode
