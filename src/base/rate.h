// Exact rates. The time per byte is a reduced fraction of picoseconds: 20/1 at 400 Gb/s, 80/1 at
// 100 Gb/s, 440/3 on an FDR 4x link (600/11 Gb/s). Rounding each packet to whole picoseconds would
// make such a link drift; a Serializer carries the fraction over instead.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

#include "base/check.h"
#include "base/int128.h"
#include "base/time.h"

namespace tulle::base {

class Rate {
public:
    // numerator / denominator bits per second: FDR 4x is bits_per_second(600'000'000'000, 11).
    static constexpr Rate bits_per_second(uint64_t numerator, uint64_t denominator = 1);

    // Picoseconds per byte, as a reduced fraction.
    constexpr uint64_t numerator() const { return numerator_; }
    constexpr uint64_t denominator() const { return denominator_; }
    // Whole bits per second, rounded down.
    constexpr uint64_t whole_bits_per_second() const {
        return static_cast<uint64_t>(uint128_t{8'000'000'000'000} * denominator_ / numerator_);
    }

    // The time of `bytes` on an idle line, rounded up to a picosecond.
    constexpr Duration time_for(uint64_t bytes) const;
    // Complete bytes after `time`, which is not negative.
    constexpr uint64_t bytes_in(Duration time) const;

    constexpr bool operator==(const Rate&) const = default;
    // The slower rate compares as less.
    constexpr std::strong_ordering operator<=>(const Rate& other) const;

private:
    constexpr Rate(uint64_t numerator, uint64_t denominator)
        : numerator_(numerator), denominator_(denominator) {}

    uint64_t numerator_;
    uint64_t denominator_;
};

// A line that sends one packet after another. The exact end of the last one is a whole number of
// picoseconds plus a fraction; the line reports it rounded up, so it never exceeds its rate.
//
// A packet sent no later than the reported end follows back to back and starts at the exact end, so
// n packets end at the closed form, rounded up once. A packet sent after the reported end finds an
// idle line and starts at that instant; the fraction is dropped.
class Serializer {
public:
    explicit Serializer(Rate rate) : rate_(rate) {}

    // Sends `bytes` at `now`, or once the line is free; returns when the last byte has left.
    Instant send(Instant now, uint64_t bytes);

    // Keeps the line busy for this much longer.
    void hold(Duration time) { whole_ += time; }

    // The reported end of the last packet.
    Instant free_at() const { return {whole_.ps + (fraction_ != 0 ? 1 : 0)}; }

    Rate rate() const { return rate_; }

private:
    Rate rate_;
    Instant whole_;          // the exact end is whole_ plus
    uint64_t fraction_ = 0;  // fraction_ / rate_.denominator() picoseconds
};

namespace detail {

// The product of two such numbers fits into 62 bits, so most rates need no wide division.
inline constexpr uint64_t kSmall = (uint64_t{1} << 31) - 1;

constexpr uint128_t greatest_common_divisor(uint128_t a, uint128_t b) {
    while (b != 0) {
        const uint128_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

// A number of picoseconds, which must fit into 63 bits.
constexpr int64_t checked_ps(uint128_t ps) {
    TULLE_CHECK(ps <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()));
    return static_cast<int64_t>(ps);
}

}  // namespace detail

constexpr Rate Rate::bits_per_second(uint64_t numerator, uint64_t denominator) {
    TULLE_CHECK(numerator != 0 && denominator != 0);
    constexpr uint64_t kBitPicoseconds =
        8'000'000'000'000;  // bits per byte times picoseconds per second
    const uint128_t ps = uint128_t{kBitPicoseconds} * denominator;
    const uint128_t divisor = detail::greatest_common_divisor(ps, numerator);
    TULLE_CHECK(ps / divisor <= std::numeric_limits<uint64_t>::max());
    return {static_cast<uint64_t>(ps / divisor), static_cast<uint64_t>(numerator / divisor)};
}

constexpr Duration Rate::time_for(uint64_t bytes) const {
    if (denominator_ == 1 && bytes <= detail::kSmall && numerator_ <= detail::kSmall)
        return {static_cast<int64_t>(bytes * numerator_)};
    const uint128_t exact = uint128_t{bytes} * numerator_;
    return {detail::checked_ps(exact / denominator_ + (exact % denominator_ != 0 ? 1 : 0))};
}

constexpr uint64_t Rate::bytes_in(Duration time) const {
    TULLE_CHECK(time.ps >= 0);
    const uint128_t bytes = uint128_t{static_cast<uint64_t>(time.ps)} * denominator_ / numerator_;
    TULLE_CHECK(bytes <= std::numeric_limits<uint64_t>::max());
    return static_cast<uint64_t>(bytes);
}

constexpr std::strong_ordering Rate::operator<=>(const Rate& other) const {
    const uint128_t mine = uint128_t{numerator_} * other.denominator_;
    const uint128_t others = uint128_t{other.numerator_} * denominator_;
    if (mine == others) return std::strong_ordering::equal;
    return mine > others ? std::strong_ordering::less : std::strong_ordering::greater;
}

inline Instant Serializer::send(Instant now, uint64_t bytes) {
    if (now > free_at()) {
        whole_ = now;
        fraction_ = 0;
    }
    if (rate_.denominator() == 1 && bytes <= detail::kSmall &&
        rate_.numerator() <= detail::kSmall) {
        whole_ += {static_cast<int64_t>(bytes * rate_.numerator())};
        return whole_;
    }
    const uint128_t exact = uint128_t{bytes} * rate_.numerator() + fraction_;
    whole_ = {detail::checked_ps(exact / rate_.denominator() + static_cast<uint64_t>(whole_.ps))};
    fraction_ = static_cast<uint64_t>(exact % rate_.denominator());
    return free_at();
}

}  // namespace tulle::base
