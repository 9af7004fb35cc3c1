// The side that sends the REQ (12.9.5).
#include "transport/cm/connection_manager.h"
#include "transport/cm/messages.h"
#include "transport/cm/times.h"

namespace tulle::transport {

using base::Instant;

CmOpened ConnectionManager::connect(Instant now, const ConnectRequest& request) {
    if (const CmStatus status = cm::check(request); status != CmStatus::ok) return {status, {}};
    Connection* c = table_.open();
    if (c == nullptr) return {CmStatus::no_room, {}};
    c->state = State::req_sent;
    c->active = true;
    c->endpoint = request.endpoint;
    c->local_qpn = request.qpn;
    c->establishment = c->transaction_id = table_.new_transaction_id();
    c->round_trip_time = round_trip(request.path.packet_lifetime);
    c->time_wait_time = c->round_trip_time;
    c->response_time = cm_time(request.remote_cm_response_timeout) + c->round_trip_time;
    c->peer_patience = cm_time(request.local_cm_response_timeout) + c->round_trip_time;
    c->max_retries = request.max_cm_retries;
    c->service_id = request.service_id;
    c->peer_to_peer = request.peer_to_peer;
    if (request.peer_to_peer) peers_.push_back(c->self);
    const auto req = cm::req_message(request, config_, c->local_id);
    ask(now, *c, cm::datagram(req, c->transaction_id), c->response_time);
    return {CmStatus::ok, c->self};
}

CmStatus ConnectionManager::ready(CmHandle handle, wire::Bytes private_data) {
    Connection* c = owned(handle);
    if (c == nullptr) return CmStatus::no_such_connection;
    if (c->state != State::rep_received) return CmStatus::wrong_state;
    if (!cm::fits_data_of<wire::CmRtu>(private_data)) return CmStatus::too_long;
    auto rtu = cm::plain_message<wire::CmRtu>(c->ids());
    cm::put_data(private_data, rtu.private_data);
    answer(*c, cm::datagram(rtu, c->transaction_id));
    c->state = State::established;
    tell(*c, CmEstablished{});
    return CmStatus::ok;
}

void ConnectionManager::on_rep(const Arrival& from, const wire::CmRep& rep) {
    if (rep.local_qpn.value < 2) {
        ++stats_.malformed;
        return;
    }
    Connection* c = table_.by_local_id(rep.remote_communication_id.value);
    if (c == nullptr) {
        ++stats_.unknown;
        const cm::Ids ids{rep.remote_communication_id.value, rep.local_communication_id.value};
        return answer_unknown(from,
                              cm::rej_message({.reason = wire::kCmRejectInvalidCommunicationId},
                                              wire::kCmAnswersRep, ids));
    }
    if (c->state == State::req_sent)
        on_first_rep(from, *c, rep);
    else
        on_repeated_rep(from, *c, rep);
}

void ConnectionManager::on_first_rep(const Arrival& from, Connection& c, const wire::CmRep& rep) {
    c.cm_qpn = from.qpn;
    c.has_remote = true;
    c.remote_id = rep.local_communication_id.value;
    c.remote_guid = rep.local_ca_guid;
    c.remote_qpn = rep.local_qpn;
    if (table_.by_remote_qpn(c.endpoint, c.remote_guid, c.remote_qpn) != nullptr)
        return on_stale_rep(from, c, rep);
    table_.index_remote_id(c);
    table_.index_remote_qpn(c);
    c.time_wait_time = c.round_trip_time + peer_time(rep.target_ack_delay);
    c.state = State::rep_received;
    stop_waiting(c);
    tell(c, CmReplyArrived{rep});
}

// The REP names a QP that we believe connected: nothing becomes of this establishment, and the old
// connection is over too (12.9.8.3.1).
void ConnectionManager::on_stale_rep(const Arrival& from, Connection& c, const wire::CmRep& rep) {
    Connection& old = *table_.by_remote_qpn(c.endpoint, rep.local_ca_guid, rep.local_qpn);
    const auto rej =
        cm::rej_message({.reason = wire::kCmRejectStaleConnection}, wire::kCmAnswersRep, c.ids());
    send(c, cm::datagram(rej, c.transaction_id));
    if (old.state == State::req_received)
        supersede(old);
    else
        end_stale(from.now, old);
    finish(c, CmRejected{.message = rej, .here = true});
}

// The peer has not got our RTU, REJ or MRA, or is not patient enough.
void ConnectionManager::on_repeated_rep(const Arrival& from, Connection& c,
                                        const wire::CmRep& rep) {
    const bool known = c.active && c.has_remote && c.remote_id == rep.local_communication_id.value;
    if (!known) {
        ++stats_.wrong_state;
        return;
    }
    ++stats_.duplicates;
    if (c.state == State::established) repeat_answer(c, wire::kCmRtu);
    if (c.state == State::rep_received) repeat_answer(c, wire::kCmMra);
    if (c.state != State::refused) return;
    repeat_answer(c);
    remember(from.now, c, State::refused);
}

}  // namespace tulle::transport
