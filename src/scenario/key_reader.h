// Reads single keys of a map into variables. A missing key leaves its variable unchanged.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "scenario/fields.h"
#include "scenario/notes.h"

namespace tulle::scenario {

class KeyReader {
public:
    static constexpr uint64_t kMostDegree = 1 << 20;

    KeyReader(const Value& map, Notes& notes) : map_(map), notes_(notes) {}

    const Value& map() const { return map_; }
    Notes& notes() { return notes_; }

    template <class T>
    void number(const Value& map, std::string_view key, T& into, uint64_t least,
                uint64_t most = kMostDegree) {
        const Value* value = map.find(key);
        if (value == nullptr) return;
        uint64_t found = 0;
        if (const Complaint wrong = detail::not_a_number(*value, least, most, found))
            notes_.fail(value->line, fmt::format("{}: {}", key, *wrong));
        else
            into = static_cast<T>(found);
    }

    void yes(const Value& map, std::string_view key, bool& into) {
        const Value* value = map.find(key);
        if (value == nullptr) return;
        Target unused;
        if (const Complaint wrong =
                yes_no([&](Target&) -> bool& { return into; }).read(unused, *value))
            notes_.fail(value->line, fmt::format("{}: {}", key, *wrong));
    }

    // One of several words; a missing key leaves `into` unchanged.
    template <class T>
    void word(std::string_view key, const std::vector<std::pair<std::string_view, T>>& known,
              T& into) {
        const Value* value = map_.find(key);
        if (value == nullptr) return;
        std::vector<std::string_view> words;
        for (const auto& [name, meaning] : known) {
            words.push_back(name);
            if (!value->is_text() || value->text != name) continue;
            into = meaning;
            return;
        }
        if (const Complaint wrong = detail::none_of(*value, words))
            notes_.fail(value->line, fmt::format("{}: {}", key, *wrong));
    }

    template <class Make, class T>
    void field(std::string_view key, Make make, T& into) {
        const Value* value = map_.find(key);
        if (value == nullptr) return;
        Target unused;
        if (const Complaint wrong = make([&](Target&) -> T& { return into; }).read(unused, *value))
            notes_.fail(value->line, fmt::format("{}: {}", key, *wrong));
    }
    void time(std::string_view key, base::Duration& into) {
        field(
            key, [](At<base::Duration> at) { return duration(std::move(at)); }, into);
    }
    void time(std::string_view key, std::optional<base::Duration>& into) {
        if (map_.find(key) == nullptr) return;
        base::Duration found{};
        time(key, found);
        into = found;
    }
    void size(std::string_view key, uint64_t& into) {
        field(
            key, [](At<uint64_t> at) { return size64(std::move(at)); }, into);
        if (map_.find(key) != nullptr && into == 0)
            notes_.fail(map_.find(key)->line, fmt::format("{}: it is at least one byte", key));
    }
    // From 0.001 to 1, in thousandths.
    void permille(std::string_view key, uint32_t& into) {
        const Value* value = map_.find(key);
        if (value == nullptr) return;
        field(
            key, [](At<uint32_t> at) { return part32(std::move(at), 1000); }, into);
        if (!notes_.failed() && into == 0)
            notes_.fail(value->line, fmt::format("{}: it is at least 0.001", key));
    }

protected:
    const Value& map_;
    Notes& notes_;
};

}  // namespace tulle::scenario
