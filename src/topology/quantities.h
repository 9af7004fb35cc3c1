// The quantities of a cable in topology files. All are exact: a written number reads back
// unchanged.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace tulle::topology {

base::Result<uint64_t> parse_rate_bps(std::string_view written);  // "100Gbps"
std::string rate_text(uint64_t rate_bps);

base::Result<base::Duration> parse_delay(std::string_view written);  // "0.001ms", not negative
std::string delay_text(base::Duration delay);                        // in ms, as HPCC files do

// A share such as "0.001" or "1e-9", at most 1, in units of 10^-12.
base::Result<uint64_t> parse_loss(std::string_view written);
std::string loss_text(uint64_t per_trillion);

base::Result<uint32_t> parse_length_mm(std::string_view written);  // "2.5m", "300mm"
std::string length_text(uint32_t length_mm);

}  // namespace tulle::topology
