// Service ID resolution (SIDR, 12.11): which QP and Q_Key serve a datagram service. One question,
// one answer; it shares handles and retries with connections and has none of their other states.
#include "transport/cm/connection_manager.h"
#include "transport/cm/messages.h"
#include "transport/cm/times.h"

namespace tulle::transport {

using base::Instant;

namespace {

// A SIDR_REQ does not say how long its sender waits: what Linux and we wait unless told otherwise.
constexpr base::Duration kUsualPatience = cm_time(20);

}  // namespace

CmOpened ConnectionManager::resolve_service(Instant now, const ServiceRequest& request) {
    if (const CmStatus status = cm::check(request); status != CmStatus::ok) return {status, {}};
    Connection* c = table_.open();
    if (c == nullptr) return {CmStatus::no_room, {}};
    c->state = State::sidr_sent;
    c->endpoint = request.endpoint;
    c->transaction_id = table_.new_transaction_id();
    c->max_retries = request.max_cm_retries;
    const auto req = cm::sidr_req_message(request, c->local_id);
    ask(now, *c, cm::datagram(req, c->transaction_id),
        cm_time(request.response_timeout) + round_trip(request.packet_lifetime));
    return {CmStatus::ok, c->self};
}

void ConnectionManager::on_sidr_req(const Arrival& from, const wire::CmSidrReq& req) {
    if (Connection* known = table_.by_request_id(from.endpoint, req.request_id.value)) {
        if (known->establishment == from.transaction_id || known->state == State::sidr_received)
            return on_known_sidr_req(from, *known);
        table_.close(*known);  // answered long ago; the ID has a new meaning
    }
    const Listener* listener = listener_of(req.service_id);
    if (listener == nullptr) return refuse_service(from, req, wire::kSidrServiceIdUnsupported);
    Connection* c = table_.open();
    if (c == nullptr) return refuse_service(from, req, wire::kSidrRejected);
    c->state = State::sidr_received;
    c->endpoint = from.endpoint;
    c->cm_qpn = from.qpn;
    c->remote_id = req.request_id.value;
    c->service_id = req.service_id;
    c->establishment = from.transaction_id;
    c->peer_patience = kUsualPatience;
    table_.index_request_id(*c);
    tell(*c, CmServiceRequested{.listener = listener->name,
                                .endpoint = from.endpoint,
                                .message = req,
                                .ip = ip_addresses_of(req)});
}

void ConnectionManager::on_known_sidr_req(const Arrival& from, Connection& c) {
    ++stats_.duplicates;
    if (c.state != State::sidr_answered) return;
    repeat_answer(c);
    remember(from.now, c, State::sidr_answered);
}

void ConnectionManager::refuse_service(const Arrival& from, const wire::CmSidrReq& req,
                                       wire::CmSidrStatus why) {
    answer_unknown(from,
                   cm::sidr_rep_message({.status = why}, req.request_id.value, req.service_id));
}

CmStatus ConnectionManager::answer_service(Instant now, CmHandle handle,
                                           const ServiceAnswer& reply) {
    Connection* c = owned(handle);
    if (c == nullptr) return CmStatus::no_such_connection;
    if (c->state != State::sidr_received) return CmStatus::wrong_state;
    if (const CmStatus status = cm::check(reply); status != CmStatus::ok) return status;
    answer(*c, cm::datagram(cm::sidr_rep_message(reply, c->remote_id, c->service_id),
                            c->establishment));
    remember(now, *c, State::sidr_answered);
    return CmStatus::ok;
}

void ConnectionManager::on_sidr_rep(const Arrival&, const wire::CmSidrRep& rep) {
    Connection* c = table_.by_local_id(rep.request_id.value);
    if (c == nullptr)
        ++stats_.unknown;
    else if (c->state != State::sidr_sent)
        ++stats_.wrong_state;
    else
        finish(*c, CmServiceAnswered{rep});
}

}  // namespace tulle::transport
