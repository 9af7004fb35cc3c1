// What was measured on machines: the output of nccl-tests, its table or its JSON (-J).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace tulle::scenario {

struct MeasuredRow {
    uint64_t bytes = 0;
    base::Duration time{};       // out of place; its unit is a microsecond
    uint64_t bus_bandwidth = 0;  // bytes a second; its GB are 10^9 bytes
};

struct Measured {
    std::string file;
    std::string collective;  // as tulle calls it; empty: the file does not say
    std::vector<MeasuredRow> rows;
};

// Or "FILE:LINE: sentence".
base::Result<Measured> read_measured(std::string_view text, const std::string& file);

}  // namespace tulle::scenario
