// The records of a ring. A head is followed by one of: a packet with its route header and payload;
// a frame in its form on the wire; the bytes of a WRITE that its initiator has checked (direct.h);
// a datagram that came to the wrong process (udp_neighbours.h); or a message about receives between
// processes that share an XRC domain (xrc_lender.h).
#pragma once

#include <cstdint>

#include "live/board.h"

namespace tulle::live {

enum class RecordKind : uint16_t {
    packet = 1,
    frame = 2,
    write = 4,
    datagram = 5,
    ask_receives = 6,    // from the borrower
    lend_receive = 7,    // from the owner
    complete_lent = 8,   // from the borrower
    give_back_lent = 9,  // from the borrower
};

struct RecordHead {
    RecordKind kind;
    uint16_t refusal =
        0;  // of a frame: the syndrome with which its responder must answer; 0 is none
    uint32_t grh_bytes = 0;
};

struct WriteRecord {
    RecordHead head;
    uint64_t place;  // in the reader's memory; only a writer that has proven to reach it is trusted
};

// Records that lend receives of an XRC queue. `queue` is its number in the world.
struct AskRecord {
    RecordHead head{RecordKind::ask_receives};
    uint32_t queue = 0;
    uint32_t count = 0;  // at the most
    DomainFile file;     // of the asker's domain
};
// One receive, followed by its pieces. Token 0: no receive.
struct LendRecord {
    RecordHead head{RecordKind::lend_receive};
    uint32_t queue = 0;
    uint32_t token = 0;
    uint32_t more = 0;  // records that follow in the same answer
    uint32_t pieces = 0;
};
struct CompleteRecord {
    RecordHead head{RecordKind::complete_lent};
    uint32_t token = 0;
    uint32_t qpn = 0;          // the target's number in the world
    uint32_t sender_slot = 0;  // kSlots: the sender has none
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

inline constexpr uint32_t kMostPieces = 32;  // of a receive: as many as verbs accepts

}  // namespace tulle::live
