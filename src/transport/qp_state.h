// States of a queue pair, and the requirements of each transition (IBTA vol 1, 10.3 and 11.2.5.3).
#pragma once

#include "transport/types.h"

namespace tulle::transport {

// Which attributes a modify call brings (ibv_qp_attr_mask).
enum Attribute : uint32_t {
    kState = 1 << 0,
    kCurrentState = 1 << 1,
    kDrainNotify = 1 << 2,
    kAccessFlags = 1 << 3,
    kPkeyIndex = 1 << 4,
    kPort = 1 << 5,
    kQkey = 1 << 6,
    kAddress = 1 << 7,
    kPathMtu = 1 << 8,
    kTimeout = 1 << 9,
    kRetryCount = 1 << 10,
    kRnrRetry = 1 << 11,
    kReceivePsn = 1 << 12,
    kMaxReads = 1 << 13,
    kAlternatePath = 1 << 14,
    kMinRnrTimer = 1 << 15,
    kSendPsn = 1 << 16,
    kMaxIncomingReads = 1 << 17,
    kMigrationState = 1 << 18,
    kDestQpn = 1 << 20,
    kDestEe = 1 << 30,  // of EE contexts, which verbs does not have
};

// XRC has two kinds of queue pair: one sends, one receives. The last two are the halves of an EE
// context (rd.h): they are in the table of queue pairs, but hidden from users.
enum class QpType : uint8_t {
    rc,
    uc,
    ud,
    rd,
    xrc_initiator,
    xrc_target,
    ee_requester,
    ee_responder,
};

constexpr Service service_of(QpType type) {
    switch (type) {
        case QpType::rc: return Service::rc;
        case QpType::uc: return Service::uc;
        case QpType::ud: return Service::ud;
        case QpType::rd:
        case QpType::ee_requester:
        case QpType::ee_responder: return Service::rd;
        case QpType::xrc_initiator:
        case QpType::xrc_target: return Service::xrc;
    }
    return Service::rc;
}

// Whether a queue pair of this type supports this work (IBTA vol 1, table 38 and 10.2.4.1).
bool offers(QpType type, Work work);

// Whether a queue pair of this type may make this transition with these attributes: all that it
// requires, and none that it does not allow.
bool is_legal_change(QpType type, QpState from, QpState to, uint32_t attributes);

}  // namespace tulle::transport
