// YAML text as a tree that remembers its lines.
//
// The parser's exceptions, its anchors and aliases (with which a short text can mean a gigabyte),
// tags and second documents end here: what comes out is texts, lists and maps, every map with each
// key once. Nothing is interpreted; `yes`, `0x10` and `1:30` are the texts that were written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tulle::scenario {

// Scenarios and profiles above this are refused: traffic in bulk belongs into flow files.
inline constexpr size_t kMostTextBytes = 4 << 20;

struct Key {
    std::string name;
    uint32_t line = 0;
};

struct Value {
    enum class Kind : uint8_t { nothing, text, list, map };
    Kind kind = Kind::nothing;
    uint32_t line = 0;  // from 1
    std::string text;
    std::vector<Key> keys;     // of a map, ...
    std::vector<Value> items;  // ... and their values; or the items of a list

    bool is_text() const { return kind == Kind::text; }
    bool is_list() const { return kind == Kind::list; }
    bool is_map() const { return kind == Kind::map; }

    // The value of a key; null where the map lacks it.
    const Value* find(std::string_view key) const;
};

// Errors begin with "file:line: ". An empty text is an empty map.
base::Result<Value> parse_tree(std::string_view text, std::string_view file);

// The same tree as YAML text, everything in the line where it stood, so that another reader of it
// complains of the right one.
std::string to_yaml(const Value& value);

}  // namespace tulle::scenario
