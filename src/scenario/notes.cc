#include "scenario/notes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/words.h"

namespace tulle::scenario {
namespace {

std::string_view kind_name(Value::Kind kind) {
    switch (kind) {
        case Value::Kind::nothing: return "empty";
        case Value::Kind::text: return "a word";
        case Value::Kind::list: return "a list";
        case Value::Kind::map: return "a map";
    }
    return "";
}

}  // namespace

void Notes::fail(uint32_t line, std::string_view sentence) {
    if (!error_) error_ = located(file_, line, sentence);
}

bool Notes::expect_map(const Value& value, std::string_view what, std::span<const KnownKey> known) {
    std::vector<std::string_view> names;
    for (const KnownKey& key : known) names.push_back(key.name);
    if (!value.is_map()) {
        fail(value.line, fmt::format("{} is {}; write a map with some of {}", what,
                                     kind_name(value.kind), fmt::join(names, ", ")));
        return false;
    }
    for (const Key& key : value.keys)
        if (std::find(names.begin(), names.end(), key.name) == names.end()) {
            fail(key.line, unknown_key(key.name, what, names));
            return false;
        }
    return true;
}

bool Notes::expect_list(const Value& value, std::string_view what) {
    if (value.is_list()) return true;
    fail(value.line,
         fmt::format("{} is {}; write a list such as [A, B]", what, kind_name(value.kind)));
    return false;
}

bool Notes::expect_text(const Value& value, std::string_view what, std::string_view example) {
    if (value.is_text()) return true;
    fail(value.line,
         fmt::format("{} is {}; write a word such as {}", what, kind_name(value.kind), example));
    return false;
}

std::string unknown_key(std::string_view key, std::string_view where,
                        std::span<const std::string_view> known) {
    return fmt::format("unknown key '{}' in {}; {}", key.substr(0, 60), where,
                       base::did_you_mean(key, known, "the keys are " + base::joined(known)));
}

}  // namespace tulle::scenario
