// One message from a host to another.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace tulle::workload {

// A later start is taken for a mistake. Sums of a few such times fit into 64 bits of picoseconds.
inline constexpr base::Duration kLatestStart{86'400'000'000'000'000};  // a day

struct Message {
    uint32_t source = 0;  // host number, as the pattern or the file counts
    uint32_t destination = 0;
    uint64_t bytes = 0;
    base::Instant start{};
    uint32_t id = 0;
    uint8_t priority_group = 0;     // of HPCC's files
    uint16_t destination_port = 0;  // of HPCC's files

    bool operator==(const Message&) const = default;
};

}  // namespace tulle::workload
