#include "scenario/fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "base/int128.h"
#include "base/units.h"
#include "base/words.h"

namespace tulle::scenario {
namespace {

// A value of one word, read by `parse`, which returns a Result.
template <class T, class Parse, class Put>
Field word(std::string type, std::string example, Parse parse, Put put) {
    auto read = [=](Target& target, const Value& value) -> Complaint {
        if (!value.is_text()) return fmt::format("write one value, such as {}", example);
        const base::Result<T> result = parse(value.text);
        if (!result) return result.error().message;
        return put(target, *result);
    };
    return {std::move(type), std::move(read)};
}

template <class T>
auto into(At<T> at) {
    return [at](Target& target, const T& value) -> Complaint {
        at(target) = value;
        return std::nullopt;
    };
}

// More than any fabric has; sums of such times fit into 64 bits.
constexpr base::Duration kLongest{3'600'000'000'000'000};
constexpr uint64_t kLargest = uint64_t{1} << 40;
constexpr base::Duration kSlowestKib{1'000'000'000};
const base::Rate kSlowest = base::Rate::bits_per_second(1'000'000);

base::Result<base::Duration> parse_duration(std::string_view text) {
    auto duration = base::parse_duration(text);
    if (duration && *duration > kLongest)
        return base::Error{fmt::format("'{}' is more than an hour", text.substr(0, 40))};
    return duration;
}

base::Result<uint64_t> parse_bytes(std::string_view text) {
    auto bytes = base::parse_bytes(text);
    if (bytes && *bytes > kLargest)
        return base::Error{fmt::format("'{}' is more than 1TiB", text.substr(0, 40))};
    return bytes;
}

base::Result<base::Rate> parse_rate(std::string_view text) {
    auto rate = base::parse_rate(text);
    if (rate && *rate < kSlowest)
        return base::Error{fmt::format("'{}' is less than 1Mbps", text.substr(0, 40))};
    return rate;
}

bool parse_digits(std::string_view text, uint64_t& number) {
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    return !text.empty() && stop == end && error == std::errc();
}

base::Error no_part(std::string_view text) {
    return {
        fmt::format("'{}' is no number from 0 to 1; write one such as 0.2, 1e-12 or "
                    "1/8",
                    text.substr(0, 40))};
}

constexpr uint64_t kMostDigits = 1'000'000'000'000'000'000;

// Reads a decimal number, with or without an exponent, as digits / divisor.
bool parse_decimal(std::string_view text, uint64_t& digits, uint64_t& divisor) {
    const size_t e = text.find_first_of("eE");
    std::string_view mantissa = text.substr(0, e);
    uint64_t exponent = 0;
    if (e != std::string_view::npos) {
        if (text.substr(e + 1, 1) != "-" || !parse_digits(text.substr(e + 2), exponent))
            return false;
    }
    digits = 0;
    divisor = 1;
    bool after_point = false;
    if (mantissa.empty() || mantissa == ".") return false;
    for (const char c : mantissa) {
        if (c == '.' && !after_point) {
            after_point = true;
        } else if (c >= '0' && c <= '9' && digits < kMostDigits && divisor < kMostDigits) {
            digits = digits * 10 + static_cast<uint64_t>(c - '0');
            if (after_point) divisor *= 10;
        } else {
            return false;
        }
    }
    for (; exponent > 0 && divisor < kMostDigits; --exponent) divisor *= 10;
    return exponent == 0;
}

template <class T>
Field part(At<T> at, uint64_t one) {
    return word<uint64_t>(
        "part of one", "0.2", [one](std::string_view text) { return parse_part(text, one); },
        [at](Target& target, uint64_t value) -> Complaint {
            at(target) = static_cast<T>(value);
            return std::nullopt;
        });
}

// Two numbers with `separator` between them.
bool parse_two(const Value& value, char separator, uint64_t& a, uint64_t& b) {
    const std::string_view text = value.text;
    const size_t at = text.find(separator);
    return value.is_text() && at != std::string_view::npos && parse_digits(text.substr(0, at), a) &&
           parse_digits(text.substr(at + 1), b);
}

Complaint read_steps(const Value& value, std::vector<uint16_t>& table) {
    uint64_t entries = 0;
    uint64_t step = 1;
    for (size_t i = 0; i < value.keys.size(); ++i) {
        const bool is_entries = value.keys[i].name == "entries";
        if (!is_entries && value.keys[i].name != "step")
            return fmt::format("unknown key '{}'; write entries and step", value.keys[i].name);
        if (auto wrong = detail::not_a_number(value.items[i], 1, is_entries ? 16'384 : 0x3fff,
                                              is_entries ? entries : step))
            return wrong;
    }
    if (entries == 0 || (entries - 1) * step > 0x3fff)
        return "write {entries: 128, step: 1}; the last multiplier is at most 16383";
    table.clear();
    for (uint64_t i = 0; i < entries; ++i)
        table.push_back(transport::cct_entry(0, static_cast<uint16_t>(i * step)));
    return std::nullopt;
}

}  // namespace

Field duration(At<base::Duration> at) {
    return word<base::Duration>("duration", "1.5us", parse_duration, into(std::move(at)));
}

Field duration_or_off(At<base::Duration> at) {
    const auto parse = [](std::string_view text) -> base::Result<base::Duration> {
        if (text == "off") return base::Duration{};
        return parse_duration(text);
    };
    return word<base::Duration>("duration, or off", "1.5us", parse, into(std::move(at)));
}

Field positive_duration(At<base::Duration> at) {
    const auto put = [at](Target& target, base::Duration value) -> Complaint {
        if (value.ps <= 0) return "it cannot be zero";
        at(target) = value;
        return std::nullopt;
    };
    return word<base::Duration>("duration", "1.5us", parse_duration, put);
}

Field rate(At<base::Rate> at) {
    return word<base::Rate>("rate", "400Gbps", parse_rate, into(std::move(at)));
}

Field rate_or_off(At<std::optional<base::Rate>> at) {
    using Optional = std::optional<base::Rate>;
    const auto parse = [](std::string_view text) -> base::Result<Optional> {
        if (text == "off") return Optional{};
        const base::Result<base::Rate> rate = parse_rate(text);
        if (!rate) return rate.error();
        return Optional{*rate};
    };
    return word<Optional>("rate, or off", "440Gbps", parse, into(std::move(at)));
}

Field duration_a_kib(At<uint64_t> at) {
    const auto put = [at](Target& target, base::Duration value) -> Complaint {
        if (value > kSlowestKib) return "a KiB takes at most 1ms";
        at(target) = static_cast<uint64_t>(value.ps) * 1'000'000 / 1024;
        return std::nullopt;
    };
    return word<base::Duration>("duration, of a KiB", "200ns", parse_duration, put);
}

Field bits_per_second(At<uint64_t> at) {
    const auto put = [at](Target& target, base::Rate value) -> Complaint {
        at(target) = value.whole_bits_per_second();
        return std::nullopt;
    };
    return word<base::Rate>("rate", "400Gbps", parse_rate, put);
}

Field bits_per_second_or_off(At<uint64_t> at) {
    const auto parse = [](std::string_view text) -> base::Result<uint64_t> {
        if (text == "off") return uint64_t{0};
        const auto rate = parse_rate(text);
        if (!rate) return rate.error();
        return rate->whole_bits_per_second();
    };
    return word<uint64_t>("rate, or off", "400Gbps", parse, into(std::move(at)));
}

Field size64(At<uint64_t> at) {
    return word<uint64_t>("size", "64KiB", parse_bytes, into(std::move(at)));
}

Field size32(At<uint32_t> at) {
    const auto put = [at](Target& target, uint64_t value) -> Complaint {
        if (value > 1u << 31) return "it is more than 2GiB";
        at(target) = static_cast<uint32_t>(value);
        return std::nullopt;
    };
    return word<uint64_t>("size", "64KiB", parse_bytes, put);
}

Field yes_no(At<bool> at) {
    return choice<bool>(std::move(at), {{"yes", true},
                                        {"no", false},
                                        {"true", true},
                                        {"false", false},
                                        {"on", true},
                                        {"off", false}});
}

Field part64(At<uint64_t> at, uint64_t one) {
    return part(std::move(at), one);
}
Field part32(At<uint32_t> at, uint32_t one) {
    return part(std::move(at), one);
}
Field part_signed(At<int64_t> at, int64_t one) {
    return part(std::move(at), static_cast<uint64_t>(one));
}

Field ratio(At<uint32_t> numerator, At<uint32_t> denominator) {
    return {"ratio, such as 1/8", [=](Target& target, const Value& value) -> Complaint {
                uint64_t a = 0;
                uint64_t b = 1;
                const bool whole = value.is_text() && parse_digits(value.text, a);
                if ((!whole && !parse_two(value, '/', a, b)) || a == 0 || b == 0 || a > 1024 ||
                    b > 1024)
                    return "write a ratio such as 1/8 or 4, of numbers from 1 to 1024";
                numerator(target) = static_cast<uint32_t>(a);
                denominator(target) = static_cast<uint32_t>(b);
                return std::nullopt;
            }};
}

Field lane_set(At<uint16_t> at, uint8_t highest) {
    return {"list of lanes", [=](Target& target, const Value& value) -> Complaint {
                if (!value.is_list()) return "write a list of lanes, such as [3, 4]";
                uint32_t lanes = 0;
                for (const Value& item : value.items) {
                    uint64_t lane = 0;
                    if (auto wrong = detail::not_a_number(item, 0, highest, lane)) return wrong;
                    lanes |= 1u << lane;
                }
                at(target) = static_cast<uint16_t>(lanes);
                return std::nullopt;
            }};
}

Field vl_table(std::function<std::pair<fabric::VlArbitration::Entry*, uint8_t*>(Target&)> at) {
    return {
        "list of lane:weight", [=](Target& target, const Value& value) -> Complaint {
            if (!value.is_list() || value.items.size() > 64)
                return "write a list of at most 64 lane:weight, such as [0:4, 1:8]";
            const auto [entries, count] = at(target);
            *count = 0;
            for (const Value& item : value.items) {
                uint64_t lane = 0;
                uint64_t weight = 0;
                if (!parse_two(item, ':', lane, weight) || lane > 14 || weight > 255)
                    return "write lane:weight, such as 0:4; lanes go to 14, weights to 255";
                entries[(*count)++] = {static_cast<uint8_t>(lane), static_cast<uint8_t>(weight)};
            }
            return std::nullopt;
        }};
}

Field congestion_table(At<std::vector<uint16_t>> at) {
    return {
        "list of shift:multiplier, or {entries, step}",
        [=](Target& target, const Value& value) -> Complaint {
            std::vector<uint16_t>& table = at(target);
            if (value.is_map()) return read_steps(value, table);
            if (!value.is_list() || value.items.empty() || value.items.size() > 16'384)
                return "write a list of shift:multiplier, such as [0:0, 0:1], or {entries: "
                       "128, step: 1}";
            table.clear();
            for (const Value& item : value.items) {
                uint64_t shift = 0;
                uint64_t multiplier = 0;
                if (!parse_two(item, ':', shift, multiplier) || shift > 3 || multiplier > 0x3fff)
                    return "write shift:multiplier, such as 0:1; at most 3 and 16383";
                table.push_back(transport::cct_entry(static_cast<uint16_t>(shift),
                                                     static_cast<uint16_t>(multiplier)));
            }
            return std::nullopt;
        }};
}

base::Result<uint64_t> parse_part(std::string_view text, uint64_t one) {
    uint64_t numerator = 0;
    uint64_t divisor = 1;
    const size_t slash = text.find('/');
    if (slash != std::string_view::npos) {
        if (!parse_digits(text.substr(0, slash), numerator) ||
            !parse_digits(text.substr(slash + 1), divisor) || divisor == 0)
            return no_part(text);
    } else if (!parse_decimal(text, numerator, divisor)) {
        return no_part(text);
    }
    if (numerator > divisor) return no_part(text);
    return static_cast<uint64_t>(base::uint128_t{numerator} * one / divisor);
}

namespace detail {

Complaint not_a_number(const Value& value, uint64_t least, uint64_t most, uint64_t& number) {
    if (value.is_text() && parse_digits(value.text, number) && number >= least && number <= most)
        return std::nullopt;
    if (!value.is_text()) return fmt::format("write a {}", number_type(least, most));
    return fmt::format("'{}' is no {}", value.text.substr(0, 40), number_type(least, most));
}

std::string number_type(uint64_t least, uint64_t most) {
    return fmt::format("whole number from {} to {}", least, most);
}

std::string choice_type(const std::vector<std::string_view>& words) {
    return fmt::format("one of {}", fmt::join(words, ", "));
}

Complaint none_of(const Value& value, const std::vector<std::string_view>& words) {
    if (!value.is_text()) return fmt::format("write one of {}", fmt::join(words, ", "));
    return base::unknown_word(value.text, words);
}

Complaint read_array(const Value& value, uint64_t least, uint64_t most, uint8_t* items,
                     size_t count) {
    if (!value.is_list() && !value.is_map())
        return fmt::format("write a list of at most {} numbers, or a map such as {{3: 1}}", count);
    if (value.is_list() && value.items.size() > count)
        return fmt::format("the list has {} items; at most {} are known", value.items.size(),
                           count);
    for (size_t i = 0; i < value.items.size(); ++i) {
        uint64_t place = i;
        if (value.is_map() && (!parse_digits(value.keys[i].name, place) || place >= count))
            return fmt::format("'{}' is no place from 0 to {}", value.keys[i].name.substr(0, 40),
                               count - 1);
        uint64_t number = 0;
        if (auto wrong = not_a_number(value.items[i], least, most, number)) return wrong;
        items[place] = static_cast<uint8_t>(number);
    }
    return std::nullopt;
}

}  // namespace detail

}  // namespace tulle::scenario
