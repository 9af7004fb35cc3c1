// Simulated time in whole picoseconds: one byte at 400 Gb/s is exactly 20 ps, and 64 bits reach
// 106 days. There is no floating point, so the same input gives the same instants everywhere.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

#include "base/check.h"

namespace tulle::base {

// A length of time; may be negative.
struct Duration {
    int64_t ps = 0;

    constexpr auto operator<=>(const Duration&) const = default;

    constexpr Duration operator-() const { return {-ps}; }
    constexpr Duration& operator+=(Duration other) { return *this = {ps + other.ps}; }
    constexpr Duration& operator-=(Duration other) { return *this = {ps - other.ps}; }
};

constexpr Duration operator+(Duration a, Duration b) {
    return {a.ps + b.ps};
}
constexpr Duration operator-(Duration a, Duration b) {
    return {a.ps - b.ps};
}
constexpr Duration operator*(Duration a, int64_t times) {
    return {a.ps * times};
}
constexpr Duration operator*(int64_t times, Duration a) {
    return a * times;
}
constexpr Duration operator/(Duration a, int64_t parts) {
    return {a.ps / parts};
}
// How many times `b` fits into `a`, and the remainder.
constexpr int64_t operator/(Duration a, Duration b) {
    return a.ps / b.ps;
}
constexpr Duration operator%(Duration a, Duration b) {
    return {a.ps % b.ps};
}

// A point in time, counted from the start of the run.
struct Instant {
    int64_t ps = 0;

    // Later than any event. Compare with it; adding to it overflows.
    static constexpr Instant never() { return {std::numeric_limits<int64_t>::max()}; }

    constexpr auto operator<=>(const Instant&) const = default;

    constexpr Instant& operator+=(Duration d) { return *this = {ps + d.ps}; }
    constexpr Instant& operator-=(Duration d) { return *this = {ps - d.ps}; }
};

constexpr Instant operator+(Instant t, Duration d) {
    return {t.ps + d.ps};
}
constexpr Instant operator-(Instant t, Duration d) {
    return {t.ps - d.ps};
}
constexpr Duration operator-(Instant later, Instant earlier) {
    return {later.ps - earlier.ps};
}

namespace detail {

consteval Duration whole_units(unsigned long long count, int64_t unit_ps) {
    const auto most =
        static_cast<unsigned long long>(std::numeric_limits<int64_t>::max() / unit_ps);
    TULLE_CHECK(count <= most);
    return {static_cast<int64_t>(count) * unit_ps};
}

}  // namespace detail

inline namespace literals {

consteval Duration operator""_ps(unsigned long long n) {
    return detail::whole_units(n, 1);
}
consteval Duration operator""_ns(unsigned long long n) {
    return detail::whole_units(n, 1'000);
}
consteval Duration operator""_us(unsigned long long n) {
    return detail::whole_units(n, 1'000'000);
}
consteval Duration operator""_ms(unsigned long long n) {
    return detail::whole_units(n, 1'000'000'000);
}
consteval Duration operator""_s(unsigned long long n) {
    return detail::whole_units(n, 1'000'000'000'000);
}

}  // namespace literals

}  // namespace tulle::base
