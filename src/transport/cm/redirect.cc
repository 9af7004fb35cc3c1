// Redirection. A REJ that names another port (reason 25) or another manager (reason 24) is
// followed. Our own ClassPortInfo says that we redirect nobody (16.7.3).
//
// The manager cannot follow alone, because only the owner knows the path to a GID. It keeps the
// request, reports the new destination, and continues when the owner has found the path.
#include <algorithm>

#include "transport/cm/connection_manager.h"
#include "transport/cm/messages.h"
#include "transport/cm/roles.h"
#include "transport/cm/times.h"

namespace tulle::transport::cm {
namespace {

constexpr uint8_t kMaxRedirections = 8;  // two managers may name each other
constexpr uint8_t kResponseTime = 18;    // time code, about a second: an owner may be slow

// Bits of our ClassPortInfo (16.7.3.1).
constexpr uint16_t kReliableConnections = 1 << 9;
constexpr uint16_t kUnreliableConnections = 1 << 12;
constexpr uint16_t kServiceResolution = 1 << 13;

std::optional<CmRedirected> target_of(const wire::CmRej& rej) {
    const auto info = std::as_bytes(std::span(rej.additional_info)).first(rej.reject_info_length);
    if (rej.reason == wire::kCmRejectPortRedirect && info.size() >= sizeof(wire::Gid::bytes)) {
        CmRedirected target;
        std::copy_n(rej.additional_info.begin(), target.gid.bytes.size(), target.gid.bytes.begin());
        return target;
    }
    if (rej.reason != wire::kCmRejectPortAndCmRedirect) return std::nullopt;
    const auto port = wire::parse<wire::ClassPortInfo>(info);
    if (!port) return std::nullopt;
    return CmRedirected{.gid = port->redirect_gid,
                        .lid = port->redirect_lid,
                        .pkey = port->redirect_pkey,
                        .service_level = port->redirect_service_level,
                        .cm_qpn = port->redirect_qp,
                        .cm_qkey = port->redirect_qkey};
}

}  // namespace

bool is_redirected(Desk& desk, Connection& c, const wire::CmRej& rej) {
    if (c.state != State::req_sent || c.redirections == kMaxRedirections) return false;
    const auto target = target_of(rej);
    if (!target) return false;
    ++c.redirections;
    c.state = State::redirected;
    c.cm_qpn = target->cm_qpn.value == 0 ? wire::Qpn{1} : target->cm_qpn;
    desk.stop_waiting(c);
    desk.tell(c, *target);
    return true;
}

void on_get(Desk& desk, const Arrival& from, uint16_t attribute) {
    wire::MadHeader header;
    header.base_version = wire::kMadBaseVersion;
    header.management_class.value = wire::kClassCommunication;
    header.class_version = wire::kCmClassVersion;
    header.method.value = wire::kMethodGetResp;
    header.transaction_id = from.transaction_id;
    header.attribute_id.value = attribute;
    CmDatagram mad{};
    if (attribute == wire::kAttributeClassPortInfo) {
        wire::ClassPortInfo info;
        info.base_version = wire::kMadBaseVersion;
        info.class_version = wire::kCmClassVersion;
        info.capability_mask.value =
            kReliableConnections | kUnreliableConnections | kServiceResolution;
        info.response_time = kResponseTime;
        wire::write(info, wire::MutableBytes(mad).subspan(wire::kCmDataOffset));
    } else {
        header.status.value = wire::kStatusMethodAttributeUnsupported;
    }
    wire::write(header, mad);
    desk.send(from.endpoint, from.qpn, mad);
}

}  // namespace tulle::transport::cm

namespace tulle::transport {

using base::Instant;

// Sends the same REQ over another path, as a new exchange.
CmStatus ConnectionManager::follow(Instant now, CmHandle handle, uint32_t endpoint,
                                   const CmPath& path) {
    Connection* c = desk_.owned(handle);
    if (c == nullptr) return CmStatus::no_such_connection;
    if (c->state != State::redirected) return CmStatus::wrong_state;
    if (!cm::is_path(path)) return CmStatus::invalid;
    auto req = *wire::parse<wire::CmReq>(wire::Bytes(c->question).subspan(wire::kCmDataOffset));
    req.primary = cm::req_path(path, desk_.config.ack_delay);
    c->endpoint = endpoint;
    c->state = State::req_sent;
    c->establishment = c->transaction_id = desk_.table.new_transaction_id();
    desk_.ask(now, *c, cm::datagram(req, c->transaction_id), c->response_time);
    return CmStatus::ok;
}

}  // namespace tulle::transport
