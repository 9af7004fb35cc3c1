// YAML text as a tree that remembers its lines.
//
// Some features of YAML end here: the parser's exceptions, tags, second documents, anchors and
// aliases (with which a short text can mean a gigabyte). The result is texts, lists and maps; each
// map has a key only once. Nothing is interpreted: `yes`, `0x10` and `1:30` stay texts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tulle::scenario {

// Larger scenarios and profiles are refused: large traffic belongs in flow files.
inline constexpr size_t kMostTextBytes = 4 << 20;

// The name of a command line in errors. It is no file, so errors in it have no line.
inline constexpr std::string_view kCommandLine = "command line";
// The line of a value that a command line put into a scenario.
inline constexpr uint32_t kFromCommandLine = UINT32_MAX;

// An error with its place: "file:line: sentence".
base::Error located(std::string_view file, uint32_t line, std::string_view sentence);

struct Key {
    std::string name;
    uint32_t line = 0;
};

struct Value {
    enum class Kind : uint8_t { nothing, text, list, map };
    Kind kind = Kind::nothing;
    uint32_t line = 0;  // from 1
    std::string text;
    std::vector<Key> keys;     // keys of a map
    std::vector<Value> items;  // the values of these keys, or the items of a list

    bool is_text() const { return kind == Kind::text; }
    bool is_list() const { return kind == Kind::list; }
    bool is_map() const { return kind == Kind::map; }

    // The value of a key; null if the map lacks it.
    const Value* find(std::string_view key) const;
};

// Errors begin with "file:line: ". An empty text is an empty map.
base::Result<Value> parse_tree(std::string_view text, std::string_view file);

// The tree as YAML text. Everything is on its original line, so that errors of another reader name
// the right line.
std::string to_yaml(const Value& value);

}  // namespace tulle::scenario
