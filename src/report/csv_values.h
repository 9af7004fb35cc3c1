// Values as cells of comma-separated text (RFC 4180).
#pragma once

#include <cstdint>
#include <string>

namespace tulle::report {

// Quotes a name that contains a comma, a quote or a line break.
std::string csv_quoted(const std::string& name);
// Nanoseconds with up to three decimals.
std::string csv_ns(int64_t picoseconds);
std::string csv_ratio(uint64_t permille);

}  // namespace tulle::report
