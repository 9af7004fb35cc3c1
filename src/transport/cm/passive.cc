// The passive side, which receives the REQ (12.9.6).
#include "transport/cm/connection_manager.h"
#include "transport/cm/messages.h"
#include "transport/cm/roles.h"
#include "transport/cm/times.h"

namespace tulle::transport::cm {
namespace {

using base::Instant;

constexpr uint8_t kMaxMtuCode = 5;

bool is_supported_transport(const wire::CmReq& req) {
    switch (req.transport_service) {
        case wire::kCmRc:
        case wire::kCmUc: return true;
        case wire::kCmExtended: return req.extended_transport == wire::kCmExtendedXrc;
        default: return false;
    }
}

// Repeats the earlier answer; once established, the REQ is a late copy.
void on_repeated_req(Desk& desk, const Arrival& from, const wire::CmReq& req, Connection& c) {
    ++desk.stats.duplicates;
    switch (c.state) {
        case State::req_received: return desk.repeat_answer(c, wire::kCmMra);
        case State::rep_sent: return desk.send(c, c.question);
        case State::refused:
            desk.repeat_answer(c);
            return desk.remember(from.now, c, State::refused);
        case State::time_wait: return refuse(desk, from, req, wire::kCmRejectStaleConnection);
        default: return;
    }
}

std::optional<uint16_t> judge_listener(Desk& desk, const wire::CmReq& req) {
    const Listener* listener = desk.listener_of(req.service_id);
    if (listener == nullptr) return wire::kCmRejectInvalidServiceId;
    if (listener->waiting >= listener->backlog) return wire::kCmRejectNoResources;
    return std::nullopt;
}

// The reason (12.6.7.2) to reject a REQ before the owner sees it. A REQ that crosses ours is for
// the side that sent ours.
std::optional<uint16_t> judge(Desk& desk, const Arrival& from, const wire::CmReq& req,
                              bool crosses) {
    if (!is_supported_transport(req)) return wire::kCmRejectInvalidTransport;
    if (req.path_mtu < 1 || req.path_mtu > kMaxMtuCode) return wire::kCmRejectInvalidMtu;
    if (const auto reason = judge_listener(desk, req); reason && !crosses) return reason;
    if (req.path_mtu > desk.config.max_path_mtu) return wire::kCmRejectInvalidMtu;
    Connection* other = desk.table.by_remote_qpn(from.endpoint, req.local_ca_guid, req.local_qpn);
    if (other == nullptr) return std::nullopt;
    if (other->state == State::req_received) {
        supersede(desk, *other);
        return std::nullopt;
    }
    end_stale(desk, from.now, *other);
    return wire::kCmRejectStaleConnection;
}

void open_passive(Desk& desk, const Arrival& from, const wire::CmReq& req, Connection& c) {
    c.state = State::req_received;
    c.active = false;
    desk.stop_waiting(c);
    c.endpoint = from.endpoint;
    c.cm_qpn = from.qpn;
    c.has_remote = true;
    c.remote_id = req.local_communication_id.value;
    c.remote_guid = req.local_ca_guid;
    c.remote_qpn = req.local_qpn;
    c.establishment = c.transaction_id = from.transaction_id;
    // The ACK timeout of the peer's QP is a round trip plus the delay of an adapter (12.7.34).
    c.time_wait_time = desk.peer_time(req.primary.local_ack_timeout);
    c.round_trip_time = c.time_wait_time;
    c.response_time = desk.peer_time(req.local_cm_response_timeout) + c.round_trip_time;
    c.peer_patience = desk.peer_time(req.remote_cm_response_timeout) + c.round_trip_time;
    c.max_retries = req.max_cm_retries;
    desk.table.index_remote_id(c);
    desk.table.index_remote_qpn(c);
}

void on_new_req(Desk& desk, const Arrival& from, const wire::CmReq& req) {
    Connection* own = crossed_by(desk, from, req);
    if (own != nullptr && stays_active(desk, *own, req)) return;
    if (const auto reason = judge(desk, from, req, own != nullptr))
        return refuse(desk, from, req, *reason);
    Connection* c = own != nullptr ? own : desk.table.open();
    if (c == nullptr) return refuse(desk, from, req, wire::kCmRejectNoResources);
    open_passive(desk, from, req, *c);
    if (own == nullptr) {
        Listener& listener = *desk.listener_of(req.service_id);
        ++listener.waiting;
        c->backlog = listener.name;
    }
    desk.tell(*c, CmRequestArrived{.listener = c->backlog,
                                   .endpoint = from.endpoint,
                                   .message = req,
                                   .ip = ip_addresses_of(req)});
}

// The peer's ID is known: either the same REQ again, or the peer has forgotten our connection.
void on_known_req(Desk& desk, const Arrival& from, const wire::CmReq& req, Connection& c) {
    if (c.active && c.peer_to_peer) {  // it crossed ours, and is late
        ++desk.stats.duplicates;
        return;
    }
    const bool same_qp = c.remote_qpn == req.local_qpn;
    if (!c.active && same_qp && c.establishment == from.transaction_id)
        return on_repeated_req(desk, from, req, c);
    if (c.state == State::refused) {
        desk.table.close(c);
        return on_new_req(desk, from, req);
    }
    if (!same_qp) return refuse(desk, from, req, wire::kCmRejectDuplicateCommunicationId);
    if (c.state == State::req_received) {
        supersede(desk, c);
        return on_new_req(desk, from, req);
    }
    refuse(desk, from, req, wire::kCmRejectStaleConnection);
    end_stale(desk, from.now, c);
}

void establish(Desk& desk, Instant now, Connection& c, const CmEstablished& what) {
    c.state = State::established;
    c.has_answer = false;
    begin_watch(desk, now, c);
    desk.tell(c, what);
}

}  // namespace

void on_req(Desk& desk, const Arrival& from, const wire::CmReq& req) {
    if (req.local_qpn.value < 2) {
        ++desk.stats.malformed;
        return;
    }
    Connection* known =
        desk.table.by_remote_id(from.endpoint, req.local_ca_guid, req.local_communication_id.value);
    if (known != nullptr)
        on_known_req(desk, from, req, *known);
    else
        on_new_req(desk, from, req);
}

// No connection is stored, so a lost REJ does no harm: the next REQ is rejected in the same way.
void refuse(Desk& desk, const Arrival& from, const wire::CmReq& req, uint16_t reason) {
    const Ids ids{0, req.local_communication_id.value};
    desk.answer_unknown(from, rej_message({.reason = reason}, wire::kCmAnswersReq, ids));
}

// The peer started again with the same QP: it no longer waits for an answer to its first request.
void supersede(Desk& desk, Connection& c) {
    const auto rej =
        rej_message({.reason = wire::kCmRejectStaleConnection}, wire::kCmAnswersReq, c.ids());
    desk.finish(c, CmRejected{.message = rej, .here = true});
}

void on_rtu(Desk& desk, const Arrival& from, const wire::CmRtu& rtu) {
    Connection* c =
        desk.by_ids(from, rtu.remote_communication_id.value, rtu.local_communication_id.value);
    if (c == nullptr) return;
    if (c->state == State::rep_sent)
        establish(desk, from.now, *c, CmEstablished{rtu.private_data});
    else if (c->state == State::established)
        ++desk.stats.duplicates;
    else
        ++desk.stats.wrong_state;
}

}  // namespace tulle::transport::cm

namespace tulle::transport {

using base::Instant;

CmStatus ConnectionManager::accept(Instant now, CmHandle handle, const AcceptReply& reply) {
    Connection* c = desk_.owned(handle);
    if (c == nullptr) return CmStatus::no_such_connection;
    if (c->state != State::req_received) return CmStatus::wrong_state;
    if (const CmStatus status = cm::check(reply); status != CmStatus::ok) return status;
    desk_.leave_backlog(*c);
    c->state = State::rep_sent;
    c->local_qpn = reply.qpn;
    c->is_watched = reply.watches_peer;
    const auto rep = cm::rep_message(reply, desk_.config, c->ids());
    desk_.ask(now, *c, cm::datagram(rep, c->transaction_id), c->response_time);
    return CmStatus::ok;
}

CmStatus ConnectionManager::ignore(CmHandle handle) {
    Connection* c = desk_.owned(handle);
    if (c == nullptr) return CmStatus::no_such_connection;
    if (c->state != State::req_received) return CmStatus::wrong_state;
    desk_.leave_backlog(*c);
    desk_.table.close(*c);
    return CmStatus::ok;
}

// The RTU is late or lost; a packet on the QP implies it (the asynchronous event of 11.6.3).
CmStatus ConnectionManager::communication_established(Instant now, CmHandle handle) {
    Connection* c = desk_.owned(handle);
    if (c == nullptr) return CmStatus::no_such_connection;
    if (c->state != State::rep_sent) return CmStatus::wrong_state;
    cm::establish(desk_, now, *c, {});
    return CmStatus::ok;
}

}  // namespace tulle::transport
