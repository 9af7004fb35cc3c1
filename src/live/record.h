// What lies in a ring: a head, and behind it a packet with its route header and payload, a frame as
// it would be on the wire, a message of the connection manager, the bytes of a WRITE that its
// initiator has checked (direct.h), or a datagram that came to the wrong process
// (udp_neighbours.h).
#pragma once

#include <cstdint>

namespace tulle::live {

enum class RecordKind : uint16_t { packet = 1, frame = 2, management = 3, write = 4, datagram = 5 };

struct RecordHead {
    RecordKind kind;
    uint16_t refusal =
        0;  // of a frame: the syndrome that its responder shall answer with; 0 is none
    uint32_t grh_bytes = 0;
};

struct WriteRecord {
    RecordHead head;
    uint64_t place;  // in the memory of the reader, who trusts a writer that has proven to reach it
};

}  // namespace tulle::live
