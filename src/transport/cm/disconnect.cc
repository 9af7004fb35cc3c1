// Disconnection: DREQ, DREP (12.6.10, 12.6.11), and the time wait of a QP. The QP must not be
// reused during it, because packets and acknowledgements of its last connection may still be in
// flight.
#include <algorithm>

#include "transport/cm/connection_manager.h"
#include "transport/cm/messages.h"
#include "transport/cm/roles.h"

namespace tulle::transport::cm {

using base::Instant;

void send_dreq(Desk& desk, Instant now, Connection& c, wire::Bytes private_data) {
    c.state = State::dreq_sent;
    c.transaction_id = desk.table.new_transaction_id();
    auto dreq = plain_message<wire::CmDreq>(c.ids());
    dreq.remote_qpn = c.remote_qpn;
    put_data(private_data, dreq.private_data);
    desk.ask(now, c, datagram(dreq, c.transaction_id), c.response_time);
}

// A DREQ for an unknown connection still gets a DREP: the peer asks because our first one was lost.
void on_dreq(Desk& desk, const Arrival& from, const wire::CmDreq& dreq) {
    const Ids ids{dreq.remote_communication_id.value, dreq.local_communication_id.value};
    const auto drep = plain_message<wire::CmDrep>(ids);
    Connection* c = desk.by_ids(from, ids.local, ids.remote);
    if (c == nullptr) return desk.answer_unknown(from, drep);
    if (c->local_qpn != dreq.remote_qpn) {
        ++desk.stats.malformed;
        return;
    }
    switch (c->state) {
        case State::rep_received:
        case State::rep_sent:
        case State::established:
        case State::dreq_sent: {
            desk.send(*c, datagram(drep, from.transaction_id));
            CmDisconnected what{.how = CmEnd::peer_asked};
            std::copy(dreq.private_data.begin(), dreq.private_data.end(),
                      what.private_data.begin());
            return end(desk, from.now, *c, what);
        }
        case State::time_wait:
            ++desk.stats.duplicates;
            return desk.send(*c, datagram(drep, from.transaction_id));
        default: ++desk.stats.wrong_state;
    }
}

void on_drep(Desk& desk, const Arrival& from, const wire::CmDrep& drep) {
    Connection* c =
        desk.by_ids(from, drep.remote_communication_id.value, drep.local_communication_id.value);
    if (c == nullptr) return;
    if (c->state == State::dreq_sent)
        end(desk, from.now, *c, {.how = CmEnd::peer_agreed, .private_data = drep.private_data});
    else if (c->state == State::time_wait)
        ++desk.stats.duplicates;
    else
        ++desk.stats.wrong_state;
}

void end(Desk& desk, Instant now, Connection& c, const CmDisconnected& what) {
    if (!c.end_told) desk.tell(c, what);
    c.end_told = true;
    enter_time_wait(desk, now, c);
}

// The peer uses the QP at its end for something else, so it has forgotten this connection. It is
// sent DREQ until it answers or the retries are used up; the owner is told at once (12.9.8.3.1).
void end_stale(Desk& desk, Instant now, Connection& c) {
    if (c.state == State::dreq_sent || c.state == State::time_wait) return;
    if (!c.end_told) desk.tell(c, CmDisconnected{.how = CmEnd::stale});
    c.end_told = true;
    send_dreq(desk, now, c, {});
}

// The peer's QP number is free for other connections; ours is not before the end of time wait.
void enter_time_wait(Desk& desk, Instant now, Connection& c) {
    desk.leave_backlog(c);
    c.state = State::time_wait;
    desk.table.forget_remote_qpn(c);
    desk.table.set_deadline(c, now + c.time_wait_time);
}

}  // namespace tulle::transport::cm

namespace tulle::transport {

using base::Instant;

CmStatus ConnectionManager::disconnect(Instant now, CmHandle handle, wire::Bytes private_data) {
    Connection* c = desk_.owned(handle);
    if (c == nullptr) return CmStatus::no_such_connection;
    if (c->state != State::established) return CmStatus::wrong_state;
    if (!cm::fits_data_of<wire::CmDreq>(private_data)) return CmStatus::too_long;
    send_dreq(desk_, now, *c, private_data);
    return CmStatus::ok;
}

}  // namespace tulle::transport
