// Readers of settings. Each function takes the destination of a value, and returns its reader and
// the name of its type for the reference.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/rate.h"
#include "base/result.h"
#include "base/time.h"
#include "fabric/settings.h"
#include "scenario/tree.h"
#include "sim/setup.h"

namespace tulle::scenario {

// The structures that settings are written into.
struct Target {
    fabric::Settings fabric;
    sim::HostSettings host;
};

// The error of a value; nullopt if it was accepted.
using Complaint = std::optional<std::string>;

struct Field {
    std::string type;
    std::function<Complaint(Target&, const Value&)> read;
};

template <class T>
using At = std::function<T&(Target&)>;

Field duration(At<base::Duration> at);
Field duration_or_off(At<base::Duration> at);  // `off` is zero
Field positive_duration(At<base::Duration> at);
Field rate(At<base::Rate> at);
Field rate_or_off(At<std::optional<base::Rate>> at);  // `off` is none
// The time of a KiB, stored as seconds a byte in units of 10^-18.
Field duration_a_kib(At<uint64_t> at);
Field bits_per_second(At<uint64_t> at);
Field bits_per_second_or_off(At<uint64_t> at);  // `off` is zero
Field size64(At<uint64_t> at);
Field size32(At<uint32_t> at);
Field yes_no(At<bool> at);
// A number from 0 to 1, in units of 1/`one`: `0.2`, `1e-12`, `1/256`.
Field part64(At<uint64_t> at, uint64_t one);
Field part32(At<uint32_t> at, uint32_t one);
Field part_signed(At<int64_t> at, int64_t one);
Field ratio(At<uint32_t> numerator, At<uint32_t> denominator);
Field lane_set(At<uint16_t> at, uint8_t highest = 15);
Field vl_table(std::function<std::pair<fabric::VlArbitration::Entry*, uint8_t*>(Target&)> at);
Field congestion_table(At<std::vector<uint16_t>> at);

namespace detail {

Complaint not_a_number(const Value& value, uint64_t least, uint64_t most, uint64_t& number);
std::string number_type(uint64_t least, uint64_t most);
std::string choice_type(const std::vector<std::string_view>& words);
Complaint none_of(const Value& value, const std::vector<std::string_view>& words);
Complaint read_array(const Value& value, uint64_t least, uint64_t most, uint8_t* items,
                     size_t count);

}  // namespace detail

template <class T>
Field number(At<T> at, uint64_t least, uint64_t most) {
    return {detail::number_type(least, most), [=](Target& target, const Value& value) -> Complaint {
                uint64_t number = 0;
                if (auto wrong = detail::not_a_number(value, least, most, number)) return wrong;
                at(target) = static_cast<T>(number);
                return std::nullopt;
            }};
}

template <class T>
using Choices = std::vector<std::pair<std::string_view, T>>;

// `then` applies the other consequences of a choice.
template <class T>
Field choice(At<T> at, Choices<T> choices, std::function<void(Target&)> then = {}) {
    std::vector<std::string_view> words;
    for (const auto& [word, meaning] : choices) words.push_back(word);
    return {detail::choice_type(words), [=](Target& target, const Value& value) -> Complaint {
                for (const auto& [word, meaning] : choices)
                    if (value.is_text() && value.text == word) {
                        at(target) = meaning;
                        if (then) then(target);
                        return std::nullopt;
                    }
                return detail::none_of(value, words);
            }};
}

// A list that fills an array from its start, or a map from indices to values.
template <size_t N>
Field array(At<std::array<uint8_t, N>> at, uint64_t least, uint64_t most) {
    return {"list, or map by place, of " + detail::number_type(least, most),
            [=](Target& target, const Value& value) {
                return detail::read_array(value, least, most, at(target).data(), N);
            }};
}

// Also for readers of other files. Returns the value times `one`, rounded down. The result must be
// at most `one`.
base::Result<uint64_t> parse_part(std::string_view text, uint64_t one);

}  // namespace tulle::scenario
