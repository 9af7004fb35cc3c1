// What lies in a ring: a head, and behind it a packet with its route header and payload, a frame as
// it would be on the wire, or a message of the connection manager.
#pragma once

#include <cstdint>

namespace tulle::live {

enum class RecordKind : uint16_t { packet = 1, frame = 2, management = 3 };

struct RecordHead {
    RecordKind kind;
    uint16_t refusal;  // of a frame: the syndrome that its responder shall answer with; 0 is none
    uint32_t grh_bytes;
};

}  // namespace tulle::live
