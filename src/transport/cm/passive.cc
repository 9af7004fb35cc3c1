// The side that a REQ reaches (12.9.6).
#include "transport/cm/connection_manager.h"
#include "transport/cm/messages.h"
#include "transport/cm/times.h"

namespace tulle::transport {

using base::Instant;

namespace {

constexpr uint8_t kMaxMtuCode = 5;

bool is_supported_transport(const wire::CmReq& req) {
    switch (req.transport_service) {
        case wire::kCmRc:
        case wire::kCmUc: return true;
        case wire::kCmExtended: return req.extended_transport == wire::kCmExtendedXrc;
        default: return false;
    }
}

}  // namespace

void ConnectionManager::on_req(const Arrival& from, const wire::CmReq& req) {
    if (req.local_qpn.value < 2) {
        ++stats_.malformed;
        return;
    }
    Connection* known =
        table_.by_remote_id(from.endpoint, req.local_ca_guid, req.local_communication_id.value);
    if (known != nullptr)
        on_known_req(from, req, *known);
    else
        on_new_req(from, req);
}

// The peer's ID is in use. The same REQ again, or is the peer beyond our connection?
void ConnectionManager::on_known_req(const Arrival& from, const wire::CmReq& req, Connection& c) {
    if (c.active && c.peer_to_peer) {  // it crossed ours, and is late
        ++stats_.duplicates;
        return;
    }
    const bool same_qp = c.remote_qpn == req.local_qpn;
    if (!c.active && same_qp && c.establishment == from.transaction_id)
        return on_repeated_req(from, req, c);
    if (c.state == State::refused) {
        table_.close(c);
        return on_new_req(from, req);
    }
    if (!same_qp) return refuse(from, req, wire::kCmRejectDuplicateCommunicationId);
    if (c.state == State::req_received) {
        supersede(c);
        return on_new_req(from, req);
    }
    refuse(from, req, wire::kCmRejectStaleConnection);
    end_stale(from.now, c);
}

// Answered again with what was answered before; once established, the REQ is a late copy.
void ConnectionManager::on_repeated_req(const Arrival& from, const wire::CmReq& req,
                                        Connection& c) {
    ++stats_.duplicates;
    switch (c.state) {
        case State::req_received: return repeat_answer(c, wire::kCmMra);
        case State::rep_sent: return send(c, c.question);
        case State::refused: repeat_answer(c); return remember(from.now, c, State::refused);
        case State::time_wait: return refuse(from, req, wire::kCmRejectStaleConnection);
        default: return;
    }
}

void ConnectionManager::on_new_req(const Arrival& from, const wire::CmReq& req) {
    Connection* own = crossed_by(from, req);
    if (own != nullptr && stays_active(*own, req)) return;
    if (const auto reason = judge(from, req, own != nullptr)) return refuse(from, req, *reason);
    Connection* c = own != nullptr ? own : table_.open();
    if (c == nullptr) return refuse(from, req, wire::kCmRejectNoResources);
    open_passive(from, req, *c);
    if (own == nullptr) {
        Listener& listener = *listener_of(req.service_id);
        ++listener.waiting;
        c->backlog = listener.name;
    }
    tell(*c, CmRequestArrived{.listener = c->backlog,
                              .endpoint = from.endpoint,
                              .message = req,
                              .ip = ip_addresses_of(req)});
}

// Why a REQ cannot be shown to anybody, as a reason of 12.6.7.2. One that crosses ours is for the
// side that sent ours.
std::optional<uint16_t> ConnectionManager::judge(const Arrival& from, const wire::CmReq& req,
                                                 bool crosses) {
    if (!is_supported_transport(req)) return wire::kCmRejectInvalidTransport;
    if (req.path_mtu < 1 || req.path_mtu > kMaxMtuCode) return wire::kCmRejectInvalidMtu;
    if (const auto reason = judge_listener(req); reason && !crosses) return reason;
    Connection* other = table_.by_remote_qpn(from.endpoint, req.local_ca_guid, req.local_qpn);
    if (other == nullptr) return std::nullopt;
    if (other->state == State::req_received) {
        supersede(*other);
        return std::nullopt;
    }
    end_stale(from.now, *other);
    return wire::kCmRejectStaleConnection;
}

std::optional<uint16_t> ConnectionManager::judge_listener(const wire::CmReq& req) {
    const Listener* listener = listener_of(req.service_id);
    if (listener == nullptr) return wire::kCmRejectInvalidServiceId;
    if (listener->waiting >= listener->backlog) return wire::kCmRejectNoResources;
    return std::nullopt;
}

// No connection is made, so a lost REJ costs nothing: the next REQ is refused in the same way.
void ConnectionManager::refuse(const Arrival& from, const wire::CmReq& req, uint16_t reason) {
    const cm::Ids ids{0, req.local_communication_id.value};
    answer_unknown(from, cm::rej_message({.reason = reason}, wire::kCmAnswersReq, ids));
}

void ConnectionManager::open_passive(const Arrival& from, const wire::CmReq& req, Connection& c) {
    c.state = State::req_received;
    c.active = false;
    stop_waiting(c);
    c.endpoint = from.endpoint;
    c.cm_qpn = from.qpn;
    c.has_remote = true;
    c.remote_id = req.local_communication_id.value;
    c.remote_guid = req.local_ca_guid;
    c.remote_qpn = req.local_qpn;
    c.establishment = c.transaction_id = from.transaction_id;
    // The ACK timeout of the peer's QP is a round trip and the delay of an adapter (12.7.34).
    c.time_wait_time = peer_time(req.primary.local_ack_timeout);
    c.round_trip_time = c.time_wait_time;
    c.response_time = peer_time(req.local_cm_response_timeout) + c.round_trip_time;
    c.peer_patience = peer_time(req.remote_cm_response_timeout) + c.round_trip_time;
    c.max_retries = req.max_cm_retries;
    table_.index_remote_id(c);
    table_.index_remote_qpn(c);
}

// The peer has begun anew with the same QP: nobody waits for an answer to its first request.
void ConnectionManager::supersede(Connection& c) {
    const auto rej =
        cm::rej_message({.reason = wire::kCmRejectStaleConnection}, wire::kCmAnswersReq, c.ids());
    finish(c, CmRejected{.message = rej, .here = true});
}

CmStatus ConnectionManager::accept(Instant now, CmHandle handle, const AcceptReply& reply) {
    Connection* c = owned(handle);
    if (c == nullptr) return CmStatus::no_such_connection;
    if (c->state != State::req_received) return CmStatus::wrong_state;
    if (const CmStatus status = cm::check(reply); status != CmStatus::ok) return status;
    leave_backlog(*c);
    c->state = State::rep_sent;
    c->local_qpn = reply.qpn;
    const auto rep = cm::rep_message(reply, config_, c->ids());
    ask(now, *c, cm::datagram(rep, c->transaction_id), c->response_time);
    return CmStatus::ok;
}

CmStatus ConnectionManager::ignore(CmHandle handle) {
    Connection* c = owned(handle);
    if (c == nullptr) return CmStatus::no_such_connection;
    if (c->state != State::req_received) return CmStatus::wrong_state;
    leave_backlog(*c);
    table_.close(*c);
    return CmStatus::ok;
}

void ConnectionManager::on_rtu(const Arrival&, const wire::CmRtu& rtu) {
    Connection* c = by_ids(rtu.remote_communication_id.value, rtu.local_communication_id.value);
    if (c == nullptr) return;
    if (c->state == State::rep_sent)
        establish(*c, CmEstablished{rtu.private_data});
    else if (c->state == State::established)
        ++stats_.duplicates;
    else
        ++stats_.wrong_state;
}

// The RTU is late or lost; a packet on the QP says the same (the asynchronous event of 11.6.3).
CmStatus ConnectionManager::communication_established(CmHandle handle) {
    Connection* c = owned(handle);
    if (c == nullptr) return CmStatus::no_such_connection;
    if (c->state != State::rep_sent) return CmStatus::wrong_state;
    establish(*c, {});
    return CmStatus::ok;
}

void ConnectionManager::establish(Connection& c, const CmEstablished& what) {
    c.state = State::established;
    c.has_answer = false;
    stop_waiting(c);
    tell(c, what);
}

}  // namespace tulle::transport
