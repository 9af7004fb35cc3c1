// Quantities as people write and read them. Reading is exact: a decimal fraction becomes a whole
// number of picoseconds, bytes or bits per second, or an error that says what to write. Printing
// rounds to three decimals; a value that was not rounded reads back unchanged.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/rate.h"
#include "base/result.h"
#include "base/time.h"

namespace tulle::base {

// "1.5us", "20 ps"; the unit is required.
Result<Duration> parse_duration(std::string_view text);

// "64KiB" is 65536, "2MB" is 2000000, "4096" is bytes.
Result<uint64_t> parse_bytes(std::string_view text);

// "400Gbps", "54.54 Gb/s", "12.5GB/s"; not zero.
Result<Rate> parse_rate(std::string_view text);

std::string to_string(Duration duration);     // "1.234 us"
std::string to_string(Rate rate);             // "400 Gb/s"
std::string bytes_to_string(uint64_t bytes);  // "64 KiB"

}  // namespace tulle::base
