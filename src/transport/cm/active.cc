// The active side, which sends the REQ (12.9.5).
#include "transport/cm/connection_manager.h"
#include "transport/cm/messages.h"
#include "transport/cm/roles.h"
#include "transport/cm/times.h"

namespace tulle::transport::cm {
namespace {

// The REP names a QP that is connected here: this attempt is rejected, and the old connection is
// over too (12.9.8.3.1).
void on_stale_rep(Desk& desk, const Arrival& from, Connection& c, const wire::CmRep& rep) {
    Connection& old = *desk.table.by_remote_qpn(c.endpoint, rep.local_ca_guid, rep.local_qpn);
    const auto rej =
        rej_message({.reason = wire::kCmRejectStaleConnection}, wire::kCmAnswersRep, c.ids());
    desk.send(c, datagram(rej, c.transaction_id));
    if (old.state == State::req_received)
        supersede(desk, old);
    else
        end_stale(desk, from.now, old);
    desk.finish(c, CmRejected{.message = rej, .here = true});
}

void on_first_rep(Desk& desk, const Arrival& from, Connection& c, const wire::CmRep& rep) {
    c.cm_qpn = from.qpn;
    c.has_remote = true;
    c.remote_id = rep.local_communication_id.value;
    c.remote_guid = rep.local_ca_guid;
    c.remote_qpn = rep.local_qpn;
    if (desk.table.by_remote_qpn(c.endpoint, c.remote_guid, c.remote_qpn) != nullptr)
        return on_stale_rep(desk, from, c, rep);
    desk.table.index_remote_id(c);
    desk.table.index_remote_qpn(c);
    c.time_wait_time = c.round_trip_time + desk.peer_time(rep.target_ack_delay);
    c.state = State::rep_received;
    desk.stop_waiting(c);
    desk.tell(c, CmReplyArrived{rep});
}

// The peer repeats its REP: it did not get our RTU, REJ or MRA, or its timeout is too short.
void on_repeated_rep(Desk& desk, const Arrival& from, Connection& c, const wire::CmRep& rep) {
    const bool known = c.active && c.has_remote && c.remote_id == rep.local_communication_id.value;
    if (!known) {
        ++desk.stats.wrong_state;
        return;
    }
    ++desk.stats.duplicates;
    if (c.state == State::established) desk.repeat_answer(c, wire::kCmRtu);
    if (c.state == State::rep_received) desk.repeat_answer(c, wire::kCmMra);
    if (c.state != State::refused) return;
    desk.repeat_answer(c);
    desk.remember(from.now, c, State::refused);
}

}  // namespace

void on_rep(Desk& desk, const Arrival& from, const wire::CmRep& rep) {
    if (rep.local_qpn.value < 2) {
        ++desk.stats.malformed;
        return;
    }
    Connection* c = desk.by_local_id(from, rep.remote_communication_id.value);
    if (c == nullptr) {
        ++desk.stats.unknown;
        const Ids ids{rep.remote_communication_id.value, rep.local_communication_id.value};
        return desk.answer_unknown(from,
                                   rej_message({.reason = wire::kCmRejectInvalidCommunicationId},
                                               wire::kCmAnswersRep, ids));
    }
    if (c->state == State::req_sent)
        on_first_rep(desk, from, *c, rep);
    else
        on_repeated_rep(desk, from, *c, rep);
}

}  // namespace tulle::transport::cm

namespace tulle::transport {

using base::Instant;

CmOpened ConnectionManager::connect(Instant now, const ConnectRequest& request) {
    if (const CmStatus status = cm::check(request); status != CmStatus::ok) return {status, {}};
    Connection* c = desk_.table.open();
    if (c == nullptr) return {CmStatus::no_room, {}};
    c->state = State::req_sent;
    c->active = true;
    c->endpoint = request.endpoint;
    c->local_qpn = request.qpn;
    c->establishment = c->transaction_id = desk_.table.new_transaction_id();
    c->round_trip_time = round_trip(request.path.packet_lifetime);
    c->time_wait_time = c->round_trip_time;
    c->response_time = cm_time(request.remote_cm_response_timeout) + c->round_trip_time;
    c->peer_patience = cm_time(request.local_cm_response_timeout) + c->round_trip_time;
    c->max_retries = request.max_cm_retries;
    c->service_id = request.service_id;
    c->peer_to_peer = request.peer_to_peer;
    c->is_watched = request.watches_peer;
    if (request.peer_to_peer) desk_.peers.push_back(c->self);
    const auto req = cm::req_message(request, desk_.config, c->local_id);
    desk_.ask(now, *c, cm::datagram(req, c->transaction_id), c->response_time);
    return {CmStatus::ok, c->self};
}

CmStatus ConnectionManager::ready(Instant now, CmHandle handle, wire::Bytes private_data) {
    Connection* c = desk_.owned(handle);
    if (c == nullptr) return CmStatus::no_such_connection;
    if (c->state != State::rep_received) return CmStatus::wrong_state;
    if (!cm::fits_data_of<wire::CmRtu>(private_data)) return CmStatus::too_long;
    auto rtu = cm::plain_message<wire::CmRtu>(c->ids());
    cm::put_data(private_data, rtu.private_data);
    desk_.answer(*c, cm::datagram(rtu, c->transaction_id));
    c->state = State::established;
    cm::begin_watch(desk_, now, *c);
    desk_.tell(*c, CmEstablished{});
    return CmStatus::ok;
}

}  // namespace tulle::transport
