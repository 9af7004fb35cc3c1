// One message from a host to another.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace tulle::workload {

struct Message {
    uint32_t source = 0;  // hosts, as the pattern or the file counts them
    uint32_t destination = 0;
    uint64_t bytes = 0;
    base::Instant start{};
    uint32_t id = 0;
    uint8_t priority_group = 0;     // of HPCC's files
    uint16_t destination_port = 0;  // of HPCC's files

    bool operator==(const Message&) const = default;
};

}  // namespace tulle::workload
