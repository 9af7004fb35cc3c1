// Parting: DREQ, DREP (12.6.10, 12.6.11) and the time for which a QP must not be used again,
// because packets and acknowledgements of its last connection may still be under way.
#include <algorithm>

#include "transport/cm/connection_manager.h"
#include "transport/cm/messages.h"

namespace tulle::transport {

using base::Instant;

CmStatus ConnectionManager::disconnect(Instant now, CmHandle handle, wire::Bytes private_data) {
    Connection* c = owned(handle);
    if (c == nullptr) return CmStatus::no_such_connection;
    if (c->state != State::established) return CmStatus::wrong_state;
    if (!cm::fits_data_of<wire::CmDreq>(private_data)) return CmStatus::too_long;
    send_dreq(now, *c, private_data);
    return CmStatus::ok;
}

void ConnectionManager::send_dreq(Instant now, Connection& c, wire::Bytes private_data) {
    c.state = State::dreq_sent;
    c.transaction_id = table_.new_transaction_id();
    auto dreq = cm::plain_message<wire::CmDreq>(c.ids());
    dreq.remote_qpn = c.remote_qpn;
    cm::put_data(private_data, dreq.private_data);
    ask(now, c, cm::datagram(dreq, c.transaction_id), c.response_time);
}

// A DREQ for what we do not know, or no longer know, gets its DREP all the same: the peer asks
// because our first one was lost.
void ConnectionManager::on_dreq(const Arrival& from, const wire::CmDreq& dreq) {
    const cm::Ids ids{dreq.remote_communication_id.value, dreq.local_communication_id.value};
    const auto drep = cm::plain_message<wire::CmDrep>(ids);
    Connection* c = by_ids(ids.local, ids.remote);
    if (c == nullptr) return answer_unknown(from, drep);
    if (c->local_qpn != dreq.remote_qpn) {
        ++stats_.malformed;
        return;
    }
    switch (c->state) {
        case State::rep_received:
        case State::rep_sent:
        case State::established:
        case State::dreq_sent: {
            send(*c, cm::datagram(drep, from.transaction_id));
            CmDisconnected what{.how = CmEnd::peer_asked};
            std::copy(dreq.private_data.begin(), dreq.private_data.end(),
                      what.private_data.begin());
            return end(from.now, *c, what);
        }
        case State::time_wait:
            ++stats_.duplicates;
            return send(*c, cm::datagram(drep, from.transaction_id));
        default: ++stats_.wrong_state;
    }
}

void ConnectionManager::on_drep(const Arrival& from, const wire::CmDrep& drep) {
    Connection* c = by_ids(drep.remote_communication_id.value, drep.local_communication_id.value);
    if (c == nullptr) return;
    if (c->state == State::dreq_sent)
        end(from.now, *c, {.how = CmEnd::peer_agreed, .private_data = drep.private_data});
    else if (c->state == State::time_wait)
        ++stats_.duplicates;
    else
        ++stats_.wrong_state;
}

void ConnectionManager::end(Instant now, Connection& c, const CmDisconnected& what) {
    if (!c.end_told) tell(c, what);
    c.end_told = true;
    enter_time_wait(now, c);
}

// The peer uses the QP at its end for something else, so it has forgotten this connection. It is
// told so until it answers or the retries are used up; the owner hears of it at once (12.9.8.3.1).
void ConnectionManager::end_stale(Instant now, Connection& c) {
    if (c.state == State::dreq_sent || c.state == State::time_wait) return;
    if (!c.end_told) tell(c, CmDisconnected{.how = CmEnd::stale});
    c.end_told = true;
    send_dreq(now, c, {});
}

// The QP number of the peer is free for other connections; ours is not, until the time is over.
void ConnectionManager::enter_time_wait(Instant now, Connection& c) {
    leave_backlog(c);
    c.state = State::time_wait;
    table_.forget_remote_qpn(c);
    table_.set_deadline(c, now + c.time_wait_time);
}

}  // namespace tulle::transport
