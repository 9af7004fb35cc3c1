// What a connection manager reports to its owner. An event carries the message that caused it, so
// the owner sees everything that the peer said.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>

#include "transport/cm/types.h"
#include "wire/mad/cm.h"

namespace tulle::transport {

// A REQ for one of our listeners, or one that crosses our connect(): call accept(), reject() or
// prepare().
struct CmRequestArrived {
    CmListener listener;
    uint32_t endpoint = 0;
    wire::CmReq message;
    std::optional<IpAddresses> ip;

    // The program's private data: the part behind the addresses, if there are any.
    std::span<const uint8_t> private_data() const {
        return std::span(message.private_data).subspan(ip ? wire::IpCmHeader::kSize : 0);
    }
};

// A REP to our REQ: bring the QP to RTS and call ready(), or reject(), or prepare().
struct CmReplyArrived {
    wire::CmRep message;
};

// Both sides may send. The private data is that of the RTU, if one came.
struct CmEstablished {
    std::array<uint8_t, 224> private_data{};
};

// `here`: we rejected it, and `message` is what was sent to the peer.
struct CmRejected {
    wire::CmRej message;
    bool here = false;
};

// Connect to another port instead: call follow(). If the peer names only a port, only the GID is
// given; its manager is then at QP 1 of that port.
struct CmRedirected {
    wire::Gid gid = {};
    wire::Lid lid = {};
    wire::PKey pkey = wire::kDefaultPKey;
    uint8_t service_level = 0;
    wire::Qpn cm_qpn{1};
    wire::QKey cm_qkey = {};
};

// The peer's port takes no such path MTU (reason 26). We ask again with this one.
struct CmPathNarrowed {
    uint8_t path_mtu = 0;
};

// All retries were sent without an answer, or the network reports that no answer can come. After a
// LAP, the connection itself continues. `is_refused`: the peer's host says that nobody takes
// messages there.
struct CmUnreachable {
    wire::CmAttribute message = wire::kCmReq;
    bool is_refused = false;
};

enum class CmEnd : uint8_t {
    peer_asked,    // DREQ came; it was answered
    peer_agreed,   // DREP to our DREQ
    no_answer,     // all retries of our DREQ were sent
    peer_unaware,  // the peer knows of no connection: REJ to our DREQ, or APR to our question
    stale,         // the peer uses the QP for something else (12.9.8.3.1)
    peer_gone,     // lose_endpoint(), or nobody is at its port any more
};

// No more packets for the QP. It must not be reused before CmTimeWaitOver.
struct CmDisconnected {
    CmEnd how = CmEnd::peer_asked;
    std::array<uint8_t, 224> private_data{};
};

struct CmTimeWaitOver {};

// The peer got our message and needs longer. The wait is already extended.
struct CmMoreTime {
    wire::CmMra message;
};

// SIDR_REQ for one of our listeners: answer_service(). SIDR_REP: the answer to ours.
struct CmServiceRequested {
    CmListener listener;
    uint32_t endpoint = 0;
    wire::CmSidrReq message;
    std::optional<IpAddresses> ip;

    std::span<const uint8_t> private_data() const {
        return std::span(message.private_data).subspan(ip ? wire::IpCmHeader::kSize : 0);
    }
};
struct CmServiceAnswered {
    wire::CmSidrRep message;
};

struct CmEvent {
    CmHandle handle;
    bool last = false;  // the handle becomes invalid
    std::variant<CmRequestArrived, CmReplyArrived, CmEstablished, CmRejected, CmUnreachable,
                 CmPathNarrowed, CmDisconnected, CmTimeWaitOver, CmMoreTime, CmServiceRequested,
                 CmServiceAnswered, CmRedirected>
        what = CmTimeWaitOver{};
};

}  // namespace tulle::transport
