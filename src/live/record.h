// What lies in a ring: a head, and behind it a packet with its route header and payload, a frame as
// it would be on the wire, a message of the connection manager, the bytes of a WRITE that its
// initiator has checked (direct.h), a datagram that came to the wrong process (udp_neighbours.h),
// or what processes that share an XRC domain say of receives (xrc_lender.h).
#pragma once

#include <cstdint>

#include "live/board.h"

namespace tulle::live {

enum class RecordKind : uint16_t {
    packet = 1,
    frame = 2,
    management = 3,
    write = 4,
    datagram = 5,
    ask_receives = 6,    // of the borrower
    lend_receive = 7,    // of the owner
    complete_lent = 8,   // of the borrower
    give_back_lent = 9,  // of the borrower
};

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

// How receives of an XRC queue are lent. `queue` is its number as the world knows it.
struct AskRecord {
    RecordHead head{RecordKind::ask_receives};
    uint32_t queue = 0;
    uint32_t count = 0;  // at the most
    DomainFile file;     // of the asker's domain
};
// One receive, and behind this its pieces, or none: token 0.
struct LendRecord {
    RecordHead head{RecordKind::lend_receive};
    uint32_t queue = 0;
    uint32_t token = 0;
    uint32_t more = 0;  // how many come behind it that answer the same question
    uint32_t pieces = 0;
};
struct CompleteRecord {
    RecordHead head{RecordKind::complete_lent};
    uint32_t token = 0;
    uint32_t qpn = 0;          // the target's, as the world knows it
    uint32_t sender_slot = 0;  // kSlots: a process that has none
    uint32_t byte_count = 0;
    uint32_t immediate_or_rkey = 0;
    uint32_t vendor_error = 0;
    uint8_t status = 0;
    uint8_t kind = 0;
    uint8_t flags = 0;
    uint8_t service_level = 0;
};
struct GiveBackRecord {
    RecordHead head{RecordKind::give_back_lent};
    uint32_t token = 0;
    uint32_t unused = 0;
};

inline constexpr uint32_t kMostPieces = 32;  // of a receive: as many as verbs takes

}  // namespace tulle::live
