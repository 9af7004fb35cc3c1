// Traces for tests, written by hand.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tulle::traces::testing {

inline std::string varint(uint64_t value) {
    std::string bytes;
    for (; value > 0x7f; value >>= 7) bytes += static_cast<char>((value & 0x7f) | 0x80);
    return bytes + static_cast<char>(value);
}

inline std::string number(uint32_t field, uint64_t value) {
    return varint(field << 3) + varint(value);
}

inline std::string text(uint32_t field, const std::string& value) {
    return varint(field << 3 | 2) + varint(value.size()) + value;
}

// A message of a file, preceded by its length.
inline std::string framed(const std::string& message) {
    return varint(message.size()) + message;
}

// Attributes of a node: integers as int64 (9), texts as they are (29).
inline std::string attribute(const std::string& name, uint64_t value) {
    return text(10, text(1, name) + number(9, value));
}
inline std::string attribute(const std::string& name, const std::string& value) {
    return text(10, text(1, name) + text(29, value));
}

inline std::string chakra_node(uint64_t id, uint32_t type, const std::vector<uint64_t>& needs,
                               const std::string& rest = "") {
    std::string node = number(1, id) + number(3, type);
    for (const uint64_t need : needs) node += number(5, need);
    return framed(node + rest);
}

inline std::string chakra_head() {
    return framed(text(1, "0.0.4"));
}

inline constexpr uint32_t kCompute = 4, kSend = 5, kReceive = 6, kCollective = 7;

}  // namespace tulle::traces::testing
