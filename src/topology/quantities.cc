#include "topology/quantities.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/int128.h"
#include "base/units.h"
#include "topology/text.h"

namespace tulle::topology {
namespace {

constexpr uint64_t kTrillion = 1'000'000'000'000;

// "1.25" with 3 decimals is 1250; nothing if a digit would be lost or there is none.
std::optional<uint64_t> scaled(std::string_view written, int places) {
    const size_t point = written.find('.');
    std::string digits(written.substr(0, point));
    std::string fraction(point == std::string_view::npos ? "" : written.substr(point + 1));
    if (digits.empty() && fraction.empty()) return std::nullopt;
    while (!fraction.empty() && fraction.back() == '0') fraction.pop_back();
    if (places < 0) return std::nullopt;
    if (fraction.size() > static_cast<size_t>(places)) return std::nullopt;
    fraction.append(static_cast<size_t>(places) - fraction.size(), '0');
    digits += fraction;
    return digits.empty() ? 0 : parse_number<uint64_t>(digits);
}

// 1250 with 3 decimals is "1.25".
std::string unscaled(uint64_t value, size_t places) {
    std::string digits = std::to_string(value);
    if (digits.size() <= places) digits.insert(0, places + 1 - digits.size(), '0');
    const std::string_view all = digits;
    digits = text(all.substr(0, all.size() - places), ".", all.substr(all.size() - places));
    while (digits.back() == '0') digits.pop_back();
    if (digits.back() == '.') digits.pop_back();
    return digits;
}

// The exponent after an e; 0 without one.
std::optional<int> exponent_of(std::string_view written) {
    const bool is_negative = written.starts_with('-');
    if (is_negative || written.starts_with('+')) written.remove_prefix(1);
    const auto size = parse_number<uint32_t>(written);
    if (!size || *size > 18) return std::nullopt;
    return is_negative ? -static_cast<int>(*size) : static_cast<int>(*size);
}

}  // namespace

base::Result<uint64_t> parse_rate_bps(std::string_view written) {
    const auto rate = base::parse_rate(written);
    if (!rate) return rate.error();
    const base::uint128_t bits = base::uint128_t{8 * kTrillion} * rate->denominator();
    const auto rate_bps = static_cast<uint64_t>(bits / rate->numerator());
    if (rate_bps == 0) return base::Error{"a rate is one bit a second or more"};
    return rate_bps;
}

std::string rate_text(uint64_t rate_bps) {
    constexpr uint64_t kGiga = 1'000'000'000;
    if (rate_bps % 1'000'000 == 0 && rate_bps >= kGiga) return text(unscaled(rate_bps, 9), "Gbps");
    if (rate_bps % 1'000 == 0) return text(unscaled(rate_bps, 6), "Mbps");
    return text(rate_bps, "bps");
}

base::Result<base::Duration> parse_delay(std::string_view written) {
    const auto delay = base::parse_duration(written);
    if (delay && delay->ps < 0) return base::Error{"a delay is not negative"};
    return delay;
}

std::string delay_text(base::Duration delay) {
    return text(unscaled(static_cast<uint64_t>(delay.ps), 9), "ms");
}

base::Result<uint64_t> parse_loss(std::string_view written) {
    const base::Error wrong{text("'", written.substr(0, 40),
                                 "' is no error rate; write a share from 0 to 1 such as 0.001 or "
                                 "1e-9, in steps of 1e-12")};
    const size_t e = std::min(written.find_first_of("eE"), written.size());
    const auto exponent =
        e == written.size() ? std::optional(0) : exponent_of(written.substr(e + 1));
    if (!exponent) return wrong;
    const auto share = scaled(written.substr(0, e), 12 + *exponent);
    if (!share || *share > kTrillion) return wrong;
    return *share;
}

std::string loss_text(uint64_t per_trillion) {
    return unscaled(per_trillion, 12);
}

base::Result<uint32_t> parse_length_mm(std::string_view written) {
    const base::Error wrong{text("'", written.substr(0, 40),
                                 "' is no length; write metres such as 3m or 0.5m, in steps of "
                                 "1 mm")};
    if (!written.ends_with('m')) return wrong;
    written.remove_suffix(1);
    const bool in_mm = written.ends_with('m');
    if (in_mm) written.remove_suffix(1);
    const auto length = scaled(written, in_mm ? 0 : 3);
    if (!length || *length > std::numeric_limits<uint32_t>::max()) return wrong;
    return static_cast<uint32_t>(*length);
}

std::string length_text(uint32_t length_mm) {
    return text(unscaled(length_mm, 3), "m");
}

}  // namespace tulle::topology
