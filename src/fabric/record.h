// What a run that is traced or captured records as it goes.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "wire/packet.h"

namespace tulle::fabric {

using base::Instant;

struct TraceSample {
    enum class Kind : uint8_t { queue_bytes, pause_begin, pause_end, drop, mark, rate };
    Instant at{};
    Kind kind = Kind::queue_bytes;
    uint8_t lane = 0;
    uint16_t port = 0;
    uint32_t node = 0;
    uint64_t value = 0;
    uint32_t queue_pair = 0;  // of a rate, which is in bits per second: the queue pair ...
    uint32_t peer = 0;        // ... and the endpoint that it sends to
};

struct CapturedPacket {
    Instant at{};  // when its last bit left
    uint32_t cable = 0;
    bool from_a = false;
    wire::Packet packet;
};

}  // namespace tulle::fabric
