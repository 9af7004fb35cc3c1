// Path migration: LAP proposes another path for an established connection, APR answers (12.8).
#include "transport/cm/connection_manager.h"
#include "transport/cm/messages.h"
#include "transport/cm/times.h"

namespace tulle::transport {

using base::Instant;

CmStatus ConnectionManager::load_alternate(Instant now, CmHandle handle,
                                           const AlternatePathRequest& request) {
    Connection* c = owned(handle);
    if (c == nullptr) return CmStatus::no_such_connection;
    if (c->state != State::established || c->lap_sent) return CmStatus::wrong_state;
    if (const CmStatus status = cm::check(request); status != CmStatus::ok) return status;
    c->lap_sent = true;
    c->transaction_id = table_.new_transaction_id();
    const uint8_t ack_timeout = ack_timeout_code(request.path.packet_lifetime, config_.ack_delay);
    const auto lap = cm::lap_message(request, c->remote_qpn, ack_timeout, c->ids());
    ask(now, *c, cm::datagram(lap, c->transaction_id),
        cm_time(request.remote_cm_response_timeout) + c->round_trip_time);
    return CmStatus::ok;
}

void ConnectionManager::on_lap(const Arrival& from, const wire::CmLap& lap) {
    const cm::Ids ids{lap.remote_communication_id.value, lap.local_communication_id.value};
    Connection* c = by_ids(ids.local, ids.remote);
    if (c == nullptr)
        return answer_unknown(from,
                              cm::apr_message({.status = wire::kAprInvalidCommunicationId}, ids));
    if (c->local_qpn != lap.remote_qpn)
        return answer_unknown(from, cm::apr_message({.status = wire::kAprQpnMismatch}, ids));
    if (c->state != State::established) {
        ++stats_.wrong_state;
    } else if (c->lap_transaction == from.transaction_id) {
        on_repeated_lap(*c);
    } else if (c->lap_received) {
        ++stats_.wrong_state;  // one at a time
    } else {
        c->lap_received = true;
        c->lap_transaction = from.transaction_id;
        tell(*c, CmPathRequested{lap});
    }
}

void ConnectionManager::on_repeated_lap(Connection& c) {
    ++stats_.duplicates;
    repeat_answer(c, c.lap_received ? wire::kCmMra : wire::kCmApr);
}

CmStatus ConnectionManager::answer_alternate(CmHandle handle, const AlternatePathAnswer& reply) {
    Connection* c = owned(handle);
    if (c == nullptr) return CmStatus::no_such_connection;
    if (c->state != State::established || !c->lap_received) return CmStatus::wrong_state;
    if (const CmStatus status = cm::check(reply); status != CmStatus::ok) return status;
    c->lap_received = false;
    answer(*c, cm::datagram(cm::apr_message(reply, c->ids()), c->lap_transaction));
    return CmStatus::ok;
}

void ConnectionManager::on_apr(const Arrival& from, const wire::CmApr& apr) {
    Connection* c = by_ids(apr.remote_communication_id.value, apr.local_communication_id.value);
    if (c == nullptr) return;
    if (c->state != State::established) {
        ++stats_.wrong_state;
    } else if (!c->lap_sent || c->transaction_id != from.transaction_id) {
        ++stats_.duplicates;
    } else {
        c->lap_sent = false;
        stop_waiting(*c);
        tell(*c, CmPathAnswered{apr});
    }
}

}  // namespace tulle::transport
