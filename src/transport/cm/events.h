// What a connection manager tells its owner. An event carries the message that caused it, so
// nothing that a peer said is lost on the way up.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>

#include "transport/cm/types.h"
#include "wire/mad/cm.h"

namespace tulle::transport {

// A REQ for one of our listeners, or for a connect() that it crosses: accept(), reject() or
// prepare().
struct CmRequestArrived {
    CmListener listener;
    uint32_t endpoint = 0;
    wire::CmReq message;
    std::optional<IpAddresses> ip;

    // The private data of the program: what follows the addresses, if there are any.
    std::span<const uint8_t> private_data() const {
        return std::span(message.private_data).subspan(ip ? wire::IpCmHeader::kSize : 0);
    }
};

// A REP to our REQ: bring the QP to RTS and call ready(), or reject(), or prepare().
struct CmReplyArrived {
    wire::CmRep message;
};

// Both sides may send. The private data is that of the RTU, where one came.
struct CmEstablished {
    std::array<uint8_t, 224> private_data{};
};

// `here`: we refused ourselves, and `message` is what the peer was sent.
struct CmRejected {
    wire::CmRej message;
    bool here = false;
};

// Connect over there instead: follow(). The peer said no more than the GID where it names a port
// only; the manager is then at QP 1 of that port.
struct CmRedirected {
    wire::Gid gid = {};
    wire::Lid lid = {};
    wire::PKey pkey = wire::kDefaultPKey;
    uint8_t service_level = 0;
    wire::Qpn cm_qpn{1};
    wire::QKey cm_qkey = {};
};

// Sent as often as agreed, no answer. After a LAP the connection itself goes on.
struct CmUnreachable {
    wire::CmAttribute message = wire::kCmReq;
};

enum class CmEnd : uint8_t {
    peer_asked,    // DREQ came; it was answered
    peer_agreed,   // DREP to our DREQ
    no_answer,     // our DREQ was sent as often as agreed
    peer_unaware,  // REJ to our DREQ: the peer knows of no connection
    stale,         // the peer uses the QP for something else (12.9.8.3.1)
    peer_gone,     // lose_endpoint()
};

// No more packets for the QP. It may be used again at CmTimeWaitOver, not before.
struct CmDisconnected {
    CmEnd how = CmEnd::peer_asked;
    std::array<uint8_t, 224> private_data{};
};

struct CmTimeWaitOver {};

// The peer got our message and needs longer. The wait was prolonged already.
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
    bool last = false;  // the handle names nothing any more
    std::variant<CmRequestArrived, CmReplyArrived, CmEstablished, CmRejected, CmUnreachable,
                 CmDisconnected, CmTimeWaitOver, CmMoreTime, CmServiceRequested, CmServiceAnswered,
                 CmRedirected>
        what = CmTimeWaitOver{};
};

}  // namespace tulle::transport
