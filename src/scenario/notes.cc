#include "scenario/notes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace tulle::scenario {
namespace {

// The number of letters to insert, remove, replace or swap with their neighbour to turn one word
// into the other.
size_t distance(std::string_view a, std::string_view b) {
    std::vector<size_t> before(b.size() + 1);
    std::vector<size_t> row(b.size() + 1);
    std::vector<size_t> next(b.size() + 1);
    std::iota(row.begin(), row.end(), 0);
    for (size_t i = 1; i <= a.size(); ++i) {
        next[0] = i;
        for (size_t j = 1; j <= b.size(); ++j) {
            next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] != b[j - 1])});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                next[j] = std::min(next[j], before[j - 2] + 1);
        }
        before.swap(row);
        row.swap(next);
    }
    return row[b.size()];
}

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
    if (!error_) error_ = base::Error{fmt::format("{}:{}: {}", file_, line, sentence)};
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
    fail(value.line, fmt::format("{} is {}; write a list", what, kind_name(value.kind)));
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
    const std::string_view like = nearest(key, known);
    if (!like.empty())
        return fmt::format("unknown key '{}' in {}; did you mean '{}'?", key.substr(0, 60), where,
                           like);
    return fmt::format("unknown key '{}' in {}; the keys are {}", key.substr(0, 60), where,
                       fmt::join(known, ", "));
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
    if (word.size() > 60) return {};
    std::string_view best;
    size_t least = std::max<size_t>(2, word.size() / 3) + 1;
    for (const std::string_view candidate : known) {
        const size_t d = distance(word, candidate);
        if (d < least && d < candidate.size()) {
            least = d;
            best = candidate;
        }
    }
    return best;
}

}  // namespace tulle::scenario
