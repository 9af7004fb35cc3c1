#include "base/units.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>

#include "base/int128.h"

namespace tulle::base {
namespace {

struct Unit {
    std::string_view name;
    uint64_t factor;
};

constexpr uint64_t kKilo = 1'000;
constexpr uint64_t kMega = 1'000 * kKilo;
constexpr uint64_t kGiga = 1'000 * kMega;
constexpr uint64_t kTera = 1'000 * kGiga;
constexpr uint64_t kKibi = 1'024;
constexpr uint64_t kMebi = 1'024 * kKibi;
constexpr uint64_t kGibi = 1'024 * kMebi;
constexpr uint64_t kTebi = 1'024 * kGibi;

// Units for printing, from small to large.
constexpr Unit kTimes[] = {{"ps", 1}, {"ns", kKilo}, {"us", kMega}, {"ms", kGiga}, {"s", kTera}};
constexpr Unit kBinaryBytes[] = {
    {"B", 1}, {"KiB", kKibi}, {"MiB", kMebi}, {"GiB", kGibi}, {"TiB", kTebi}};
constexpr Unit kBitRates[] = {
    {"b/s", 1}, {"kb/s", kKilo}, {"Mb/s", kMega}, {"Gb/s", kGiga}, {"Tb/s", kTera}};

// Further units that are read.
constexpr Unit kDecimalBytes[] = {{"kB", kKilo}, {"KB", kKilo}, {"MB", kMega},
                                  {"GB", kGiga}, {"TB", kTera}, {"", 1}};
constexpr Unit kOtherRates[] = {
    {"bps", 1}, {"kbps", kKilo},     {"Mbps", kMega},     {"Gbps", kGiga},     {"Tbps", kTera},
    {"B/s", 8}, {"kB/s", 8 * kKilo}, {"MB/s", 8 * kMega}, {"GB/s", 8 * kGiga}, {"TB/s", 8 * kTera}};

// A kind of quantity, and the words of its error messages.
struct Quantity {
    std::string_view name;
    std::string_view smallest;
    std::string_view example;
    std::span<const Unit> units;
    std::span<const Unit> more_units;
    uint64_t most;
};

constexpr uint64_t kMost63 = std::numeric_limits<int64_t>::max();
constexpr uint64_t kMost64 = std::numeric_limits<uint64_t>::max();
constexpr Quantity kDuration{"a duration", "picoseconds", "1.5us", kTimes, {}, kMost63};
constexpr Quantity kBytes{"a size", "bytes", "64KiB", kBinaryBytes, kDecimalBytes, kMost64};
constexpr Quantity kRate{"a rate", "bits a second", "400Gbps", kBitRates, kOtherRates, kMost63};

std::string join(std::initializer_list<std::string_view> parts) {
    std::string text;
    for (const std::string_view part : parts) text += part;
    return text;
}

Error complain(std::string_view text, std::string_view problem, const Quantity& quantity) {
    return {
        join({"'", text, "' ", problem, "; write ", quantity.name, " such as ", quantity.example})};
}

// The number digits / scale, read from the first `length` characters of a text.
struct Decimal {
    uint64_t digits = 0;
    uint64_t scale = 1;
    size_t length = 0;
};

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// At most 18 digits, so that 64 bits hold them.
std::optional<Decimal> read_decimal(std::string_view text) {
    Decimal decimal;
    int count = 0;
    bool after_point = false;
    for (const char c : text) {
        if (c == '.' && !after_point && count > 0) {
            after_point = true;
        } else if (is_digit(c) && ++count <= 18) {
            decimal.digits = decimal.digits * 10 + static_cast<uint64_t>(c - '0');
            if (after_point) decimal.scale *= 10;
        } else {
            break;
        }
        ++decimal.length;
    }
    const bool complete = count >= 1 && count <= 18 && is_digit(text[decimal.length - 1]);
    return complete ? std::optional(decimal) : std::nullopt;
}

std::string_view trim(std::string_view text) {
    const size_t begin = text.find_first_not_of(' ');
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

const Unit* find_unit(std::string_view name, const Quantity& quantity) {
    for (const std::span<const Unit> units : {quantity.units, quantity.more_units})
        for (const Unit& unit : units)
            if (unit.name == name) return &unit;
    return nullptr;
}

std::string unknown_unit(std::string_view name, const Quantity& quantity) {
    std::string known;
    for (const std::span<const Unit> units : {quantity.units, quantity.more_units})
        for (const Unit& unit : units)
            if (!unit.name.empty()) known += join({" ", unit.name});
    if (name.empty()) return join({"has no unit; the units are", known});
    return join({"has the unknown unit '", name, "'; the units are", known});
}

Result<uint64_t> parse(std::string_view text, const Quantity& quantity) {
    const std::string_view trimmed = trim(text);
    const std::optional<Decimal> decimal = read_decimal(trimmed);
    if (!decimal) return complain(text, "is no number of at most 18 digits with a unit", quantity);
    const std::string_view unit_name = trim(trimmed.substr(decimal->length));
    const Unit* unit = find_unit(unit_name, quantity);
    if (unit == nullptr) return complain(text, unknown_unit(unit_name, quantity), quantity);

    const uint128_t scaled = uint128_t{decimal->digits} * unit->factor;
    if (scaled % decimal->scale != 0)
        return complain(text, join({"is no whole number of ", quantity.smallest}), quantity);
    if (scaled / decimal->scale > quantity.most) return complain(text, "is too large", quantity);
    return static_cast<uint64_t>(scaled / decimal->scale);
}

std::string with_three_decimals(uint64_t thousandths) {
    const std::string whole = std::to_string(thousandths / 1'000);
    if (thousandths % 1'000 == 0) return whole;
    const std::string decimals = std::to_string(1'000 + thousandths % 1'000).substr(1);
    return join({whole, ".", decimals.substr(0, decimals.find_last_not_of('0') + 1)});
}

// Prints numerator / denominator in the first unit that makes it less than `step`, or in the last
// one.
std::string print(uint128_t numerator, uint128_t denominator, std::span<const Unit> units,
                  uint64_t step) {
    const auto thousandths_of = [&](const Unit& unit) {
        const uint128_t divisor = denominator * unit.factor;
        return (numerator * 1'000 + divisor / 2) / divisor;
    };
    const auto fits = [&](const Unit& unit) { return thousandths_of(unit) < step * 1'000; };
    auto unit = std::find_if(units.begin(), units.end(), fits);
    if (unit == units.end()) --unit;
    return join(
        {with_three_decimals(static_cast<uint64_t>(thousandths_of(*unit))), " ", unit->name});
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
    const Result<uint64_t> ps = parse(text, kDuration);
    if (!ps) return ps.error();
    return Duration{static_cast<int64_t>(*ps)};
}

Result<uint64_t> parse_bytes(std::string_view text) {
    return parse(text, kBytes);
}

Result<Rate> parse_rate(std::string_view text) {
    const Result<uint64_t> bits = parse(text, kRate);
    if (!bits) return bits.error();
    if (*bits == 0) return complain(text, "would never deliver anything", kRate);
    return Rate::bits_per_second(*bits);
}

std::string to_string(Duration duration) {
    const auto bits = static_cast<uint64_t>(duration.ps);
    if (duration.ps < 0) return join({"-", print(0 - bits, 1, kTimes, 1'000)});
    return print(bits, 1, kTimes, 1'000);
}

std::string to_string(Rate rate) {
    return print(uint128_t{8 * kTera} * rate.denominator(), rate.numerator(), kBitRates, 1'000);
}

std::string bytes_to_string(uint64_t bytes) {
    return print(bytes, 1, kBinaryBytes, 1'024);
}

}  // namespace tulle::base
