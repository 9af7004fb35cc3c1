// Measurements on real machines: the output of nccl-tests, as a table or JSON (-J).
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
    base::Duration time{};       // out of place; the file's unit is a microsecond
    uint64_t bus_bandwidth = 0;  // bytes a second; its GB are 10^9 bytes
};

struct Measured {
    std::string file;
    std::string collective;  // tulle's name for it; empty: the file does not say
    std::vector<MeasuredRow> rows;
};

// Errors are "FILE:LINE: sentence".
base::Result<Measured> read_measured(std::string_view text, const std::string& file);

}  // namespace tulle::scenario
