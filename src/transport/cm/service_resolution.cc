// Service ID resolution (SIDR, 12.11): which QP and Q_Key serve a datagram service. One question,
// one answer. It shares handles and retries with connections, but no other states.
#include "transport/cm/connection_manager.h"
#include "transport/cm/messages.h"
#include "transport/cm/roles.h"
#include "transport/cm/times.h"

namespace tulle::transport::cm {
namespace {

// A SIDR_REQ does not give its sender's timeout: this is the default of Linux, and ours.
constexpr base::Duration kUsualPatience = cm_time(20);

void on_known_sidr_req(Desk& desk, const Arrival& from, Connection& c) {
    ++desk.stats.duplicates;
    if (c.state != State::sidr_answered) return;
    desk.repeat_answer(c);
    desk.remember(from.now, c, State::sidr_answered);
}

}  // namespace

void on_sidr_req(Desk& desk, const Arrival& from, const wire::CmSidrReq& req) {
    if (Connection* known = desk.table.by_request_id(from.endpoint, req.request_id.value)) {
        if (known->establishment == from.transaction_id || known->state == State::sidr_received)
            return on_known_sidr_req(desk, from, *known);
        desk.table.close(*known);  // answered long ago; the ID is reused
    }
    const Listener* listener = desk.listener_of(req.service_id);
    if (listener == nullptr)
        return refuse_service(desk, from, req, wire::kSidrServiceIdUnsupported);
    Connection* c = desk.table.open();
    if (c == nullptr) return refuse_service(desk, from, req, wire::kSidrRejected);
    c->state = State::sidr_received;
    c->endpoint = from.endpoint;
    c->cm_qpn = from.qpn;
    c->remote_id = req.request_id.value;
    c->service_id = req.service_id;
    c->establishment = from.transaction_id;
    c->peer_patience = kUsualPatience;
    desk.table.index_request_id(*c);
    desk.tell(*c, CmServiceRequested{.listener = listener->name,
                                     .endpoint = from.endpoint,
                                     .message = req,
                                     .ip = ip_addresses_of(req)});
}

void refuse_service(Desk& desk, const Arrival& from, const wire::CmSidrReq& req,
                    wire::CmSidrStatus why) {
    desk.answer_unknown(from,
                        sidr_rep_message({.status = why}, req.request_id.value, req.service_id));
}

void on_sidr_rep(Desk& desk, const Arrival& from, const wire::CmSidrRep& rep) {
    Connection* c = desk.by_local_id(from, rep.request_id.value);
    if (c == nullptr)
        ++desk.stats.unknown;
    else if (c->state != State::sidr_sent)
        ++desk.stats.wrong_state;
    else
        desk.finish(*c, CmServiceAnswered{rep});
}

}  // namespace tulle::transport::cm

namespace tulle::transport {

using base::Instant;

CmOpened ConnectionManager::resolve_service(Instant now, const ServiceRequest& request) {
    if (const CmStatus status = cm::check(request); status != CmStatus::ok) return {status, {}};
    Connection* c = desk_.table.open();
    if (c == nullptr) return {CmStatus::no_room, {}};
    c->state = State::sidr_sent;
    c->endpoint = request.endpoint;
    c->transaction_id = desk_.table.new_transaction_id();
    c->max_retries = request.max_cm_retries;
    const auto req = cm::sidr_req_message(request, c->local_id);
    desk_.ask(now, *c, cm::datagram(req, c->transaction_id),
              cm_time(request.response_timeout) + round_trip(request.packet_lifetime));
    return {CmStatus::ok, c->self};
}

CmStatus ConnectionManager::answer_service(Instant now, CmHandle handle,
                                           const ServiceAnswer& reply) {
    Connection* c = desk_.owned(handle);
    if (c == nullptr) return CmStatus::no_such_connection;
    if (c->state != State::sidr_received) return CmStatus::wrong_state;
    if (const CmStatus status = cm::check(reply); status != CmStatus::ok) return status;
    desk_.answer(*c, cm::datagram(cm::sidr_rep_message(reply, c->remote_id, c->service_id),
                                  c->establishment));
    desk_.remember(now, *c, State::sidr_answered);
    return CmStatus::ok;
}

}  // namespace tulle::transport
