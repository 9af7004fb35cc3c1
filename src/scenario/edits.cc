#include "scenario/edits.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace tulle::scenario {
namespace {

constexpr std::string_view kWork = "work";
constexpr std::string_view kTopology = "topology";
constexpr std::string_view kBytesOfWork = "bytes";
constexpr std::string_view kHosts = "hosts";

bool is_below(std::string_view path, std::string_view part) {
    return path.size() > part.size() + 1 && path.substr(0, part.size()) == part &&
           path[part.size()] == '.';
}

Value* find(Value& map, std::string_view key) {
    for (size_t i = 0; i < map.keys.size(); ++i)
        if (map.keys[i].name == key) return &map.items[i];
    return nullptr;
}

// Marks a value and all below it: errors in it blame the command line, not the scenario.
Value from_command_line(Value value) {
    value.line = kFromCommandLine;
    for (Key& key : value.keys) key.line = kFromCommandLine;
    for (Value& item : value.items) item = from_command_line(std::move(item));
    return value;
}

size_t set_all_sizes(Value& value, const Value& size) {
    size_t count = 0;
    for (size_t i = 0; i < value.items.size(); ++i) {
        const bool is_size = value.is_map() && value.keys[i].name == kBytesOfWork;
        if (is_size) value.items[i] = size;
        count += is_size ? 1 : set_all_sizes(value.items[i], size);
    }
    return count;
}

// The value that a step of a path leads to: an item of a list by its number, or the value of a key.
// The last step adds its key to a map that lacks it.
Value* step(Value& from, std::string_view key, bool is_last) {
    if (from.is_list()) {
        size_t index = 0;
        const auto [end, wrong] = std::from_chars(key.data(), key.data() + key.size(), index);
        if (wrong != std::errc{} || end != key.data() + key.size()) return nullptr;
        return index < from.items.size() ? &from.items[index] : nullptr;
    }
    if (!from.is_map()) return nullptr;
    if (Value* found = find(from, key)) return found;
    if (!is_last) return nullptr;
    from.keys.push_back({std::string(key), kFromCommandLine});
    return &from.items.emplace_back();
}

Complaint edit_work(std::string_view path, const Value& value, Value& work) {
    Value* place = &work;
    for (std::string_view rest = path.substr(kWork.size() + 1); !rest.empty();) {
        const size_t dot = rest.find('.');
        const std::string_view key = rest.substr(0, dot);
        const bool is_last = dot == std::string_view::npos;
        place = step(*place, key, is_last);
        if (place == nullptr)
            return fmt::format("{}: there is no '{}'; pieces of work count from 0", path, key);
        rest = is_last ? std::string_view{} : rest.substr(dot + 1);
    }
    *place = value;
    return std::nullopt;
}

// Changes one word of a text such as `leaf-spine:leaves=4,hosts=8`, or adds a word.
std::string with_word(std::string_view spec, std::string_view key, std::string_view value) {
    const size_t colon = spec.find(':');
    std::string text(spec.substr(0, colon));
    std::string_view rest = colon == std::string_view::npos ? "" : spec.substr(colon + 1);
    char separator = ':';
    bool is_set = false;
    while (!rest.empty()) {
        const size_t comma = rest.find(',');
        const std::string_view word = rest.substr(0, comma);
        const bool is_it = word.substr(0, word.find('=')) == key;
        text += separator;
        if (is_it)
            text.append(key).append("=").append(value);
        else
            text.append(word);
        is_set = is_set || is_it;
        separator = ',';
        rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    }
    if (!is_set) text.append(1, separator).append(key).append("=").append(value);
    return text;
}

Complaint edit_topology(std::string_view path, const Value& value, Value& topology) {
    if (!topology.is_text())
        return fmt::format("{}: the topology is not one by name, such as star:hosts=8", path);
    std::string_view spec = topology.text;
    std::string_view key = path == kHosts ? path : path.substr(kTopology.size() + 1);
    if (path == kHosts && spec.substr(0, spec.find(':')) == "rail") key = "servers";
    // In `star:16` the number of hosts stands without a key.
    const std::string_view words = spec.substr(std::min(spec.size(), spec.find(':')));
    if (key == kHosts && words.size() > 1 && words.find_first_of("=,") == std::string_view::npos)
        spec = spec.substr(0, spec.find(':'));
    topology.text = with_word(spec, key, value.text);
    topology.line = value.line;
    return std::nullopt;
}

}  // namespace

Value& value_at(Value& root, std::string_view path) {
    Value* place = &root;
    for (std::string_view rest = path;;) {
        const size_t dot = rest.find('.');
        const std::string_view key = rest.substr(0, dot);
        place->kind = Value::Kind::map;
        place->line = 1;
        Value* found = find(*place, key);
        if (found == nullptr) {
            place->keys.push_back({std::string(key), 1});
            found = &place->items.emplace_back();
        }
        place = found;
        if (dot == std::string_view::npos) return *place;
        rest.remove_prefix(dot + 1);
    }
}

std::string_view edited_part(std::string_view path, const Value& value) {
    if (path == kBytesOfWork || is_below(path, kWork)) return kWork;
    // These two are keys of a topology map, which a command line replaces as a whole.
    const bool is_of_map = path == "topology.file" || path == "topology.format";
    const bool is_parameter = path == kHosts || is_below(path, kTopology);
    return value.is_text() && is_parameter && !is_of_map ? kTopology : "";
}

Complaint edit(std::string_view path, const Value& given, Value& part) {
    const Value value = from_command_line(given);
    if (path == kBytesOfWork)
        return set_all_sizes(part, value) != 0
                   ? std::nullopt
                   : Complaint("bytes: no piece of work has a size in the scenario");
    if (is_below(path, kWork)) return edit_work(path, value, part);
    return edit_topology(path, value, part);
}

}  // namespace tulle::scenario
