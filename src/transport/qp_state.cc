#include "transport/qp_state.h"

#include <array>

namespace tulle::transport {
namespace {

using enum QpState;

constexpr uint32_t kConnect = kAddress | kPathMtu | kDestQpn | kReceivePsn;
constexpr uint32_t kAnswerReads = kMaxIncomingReads | kMinRnrTimer;
constexpr uint32_t kRetries = kTimeout | kRetryCount | kRnrRetry | kMaxReads;
constexpr uint32_t kPathChanges = kAlternatePath | kMigrationState;

enum TypeBit : unsigned {
    kRc = 1u << static_cast<unsigned>(QpType::rc),
    kUc = 1u << static_cast<unsigned>(QpType::uc),
    kUd = 1u << static_cast<unsigned>(QpType::ud),
    kRd = 1u << static_cast<unsigned>(QpType::rd),
    kXrcInitiator = 1u << static_cast<unsigned>(QpType::xrc_initiator),
    kXrcTarget = 1u << static_cast<unsigned>(QpType::xrc_target),
    kEeContext = 1u << static_cast<unsigned>(QpType::ee_requester),
};
constexpr unsigned kConnected = kRc | kUc | kXrcInitiator | kXrcTarget;
constexpr unsigned kDatagram = kUd | kRd;

struct Change {
    unsigned types;
    QpState from;
    QpState to;
    uint32_t required;
    uint32_t optional;
};

// In addition, every type may go from any state to RESET and to ERROR without attributes.
constexpr std::array kChanges = {
    Change{kConnected, reset, init, kPkeyIndex | kPort | kAccessFlags, 0},
    Change{kUd, reset, init, kPkeyIndex | kPort | kQkey, 0},
    Change{kConnected, init, init, 0, kPkeyIndex | kPort | kAccessFlags},
    Change{kUd, init, init, 0, kPkeyIndex | kPort | kQkey},

    Change{kRc | kXrcTarget, init, rtr, kConnect | kAnswerReads,
           kAlternatePath | kAccessFlags | kPkeyIndex},
    Change{kUc | kXrcInitiator, init, rtr, kConnect, kAlternatePath | kAccessFlags | kPkeyIndex},
    Change{kUd, init, rtr, 0, kPkeyIndex | kQkey},

    Change{kRc | kXrcInitiator, rtr, rts, kRetries | kSendPsn,
           kCurrentState | kAccessFlags | kMinRnrTimer | kPathChanges},
    Change{kXrcTarget, rtr, rts, kTimeout | kSendPsn,
           kCurrentState | kAccessFlags | kMinRnrTimer | kPathChanges},
    Change{kUc, rtr, rts, kSendPsn, kCurrentState | kAccessFlags | kPathChanges},
    Change{kUd, rtr, rts, kSendPsn, kCurrentState | kQkey},

    Change{kRc | kXrcInitiator | kXrcTarget, rts, rts, 0,
           kCurrentState | kAccessFlags | kMinRnrTimer | kPathChanges},
    Change{kUc, rts, rts, 0, kCurrentState | kAccessFlags | kPathChanges},
    Change{kDatagram, rts, rts, 0, kCurrentState | kQkey},

    Change{kConnected | kDatagram, rts, sqd, 0, kDrainNotify},
    Change{kRc | kXrcInitiator | kXrcTarget, sqd, sqd, 0,
           kAddress | kPort | kPkeyIndex | kRetries | kAnswerReads | kAccessFlags | kPathChanges},
    Change{kUc, sqd, sqd, 0, kAddress | kPort | kPkeyIndex | kAccessFlags | kPathChanges},
    Change{kDatagram, sqd, sqd, 0, kPkeyIndex | kQkey},
    Change{kRc | kXrcInitiator | kXrcTarget, sqd, rts, 0,
           kCurrentState | kAccessFlags | kMinRnrTimer | kPathChanges},
    Change{kUc, sqd, rts, 0, kCurrentState | kAccessFlags | kPathChanges},
    Change{kDatagram, sqd, rts, 0, kCurrentState | kQkey},

    Change{kUc, sqe, rts, 0, kCurrentState | kAccessFlags},
    Change{kDatagram, sqe, rts, 0, kCurrentState | kQkey},

    // An RD queue pair only says who may access it; path, PSNs and retries belong to the EE
    // context.
    Change{kRd, reset, init, kQkey, kPkeyIndex | kPort | kAccessFlags},
    Change{kRd, init, init, 0, kPkeyIndex | kPort | kQkey | kAccessFlags},
    Change{kRd, init, rtr, 0, kQkey | kAccessFlags | kMinRnrTimer},
    Change{kRd, rtr, rts, 0, kCurrentState | kQkey | kAccessFlags | kMinRnrTimer},
    Change{kEeContext, reset, init, kPkeyIndex | kPort, 0},
    Change{kEeContext, init, init, 0, kPkeyIndex | kPort},
    Change{kEeContext, init, rtr, kAddress | kPathMtu | kDestEe | kReceivePsn | kMaxIncomingReads,
           kPkeyIndex},
    Change{kEeContext, rtr, rts, kTimeout | kRetryCount | kRnrRetry | kSendPsn, kCurrentState},
};

}  // namespace

bool offers(QpType type, Work work) {
    switch (type) {
        case QpType::rc:
        case QpType::xrc_initiator: return work != Work::resync;
        case QpType::xrc_target:
        case QpType::ee_requester:
        case QpType::ee_responder: return false;
        case QpType::ud: return work == Work::send || work == Work::send_with_immediate;
        case QpType::uc:
            return work <= Work::send_with_immediate || work == Work::local_invalidate ||
                   work == Work::bind_window;
        case QpType::rd: return work <= Work::fetch_add;
    }
    return false;
}

bool is_legal_change(QpType type, QpState from, QpState to, uint32_t attributes) {
    attributes &= ~uint32_t{kState};
    if (to == reset || to == error) return attributes == 0;
    const unsigned bit = 1u << static_cast<unsigned>(type);
    for (const Change& change : kChanges) {
        if ((change.types & bit) == 0 || change.from != from || change.to != to) continue;
        return (attributes & change.required) == change.required &&
               (attributes & ~(change.required | change.optional)) == 0;
    }
    return false;
}

}  // namespace tulle::transport
