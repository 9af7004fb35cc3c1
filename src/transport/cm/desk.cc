#include "transport/cm/desk.h"

#include <algorithm>

#include "transport/cm/messages.h"
#include "transport/cm/times.h"

namespace tulle::transport::cm {

using base::Instant;

// No two listeners match the same ID, so their order does not matter.
Listener* Desk::listener_of(wire::Key64 service_id) {
    for (Listener& l : listeners)
        if (((service_id.value ^ l.service_id) & l.mask) == 0) return &l;
    return nullptr;
}

// Removes a request from its listener's backlog: the owner has decided, or the peer gave up.
void Desk::leave_backlog(Connection& c) {
    for (Listener& l : listeners)
        if (l.name == c.backlog) --l.waiting;
    c.backlog = {};
}

Connection* Desk::owned(CmHandle handle) {
    Connection* c = table.find(handle);
    return c != nullptr && !c->abandoned ? c : nullptr;
}

Connection* Desk::by_local_id(const Arrival& from, uint32_t local_id) {
    Connection* c = table.by_local_id(local_id);
    return c != nullptr && c->endpoint == from.endpoint ? c : nullptr;
}

Connection* Desk::by_ids(const Arrival& from, uint32_t local_id, uint32_t remote_id) {
    Connection* c = by_local_id(from, local_id);
    const bool same = c != nullptr && c->has_remote && c->remote_id == remote_id;
    if (!same) ++stats.unknown;
    return same ? c : nullptr;
}

void Desk::send(uint32_t endpoint, wire::Qpn qpn, const CmDatagram& mad) {
    ++stats.sent;
    if (outgoing.full()) outgoing.grow();
    outgoing.push_back({endpoint, qpn, mad});
}

// The wait that a peer asks for, limited so that it cannot occupy a place for hours.
base::Duration Desk::peer_time(uint8_t code) const {
    return cm_time(std::min(code, config.max_peer_time));
}

// Sends a message that needs an answer, and starts its timer.
void Desk::ask(Instant now, Connection& c, const CmDatagram& mad, base::Duration wait) {
    c.question = mad;
    c.asked_at = now;
    c.wait = wait;
    c.retries_left = c.max_retries;
    send(c, mad);
    const bool is_early = config.early_repeat.ps != 0 && config.early_repeat < wait;
    c.wait_after_early = is_early ? wait - config.early_repeat : base::Duration{};
    table.set_deadline(c, now + (is_early ? config.early_repeat : wait));
}

void Desk::answer(Connection& c, const CmDatagram& mad) {
    c.answer = mad;
    c.has_answer = true;
    send(c, mad);
}

void Desk::repeat_answer(Connection& c) {
    if (c.has_answer) send(c, c.answer);
}

void Desk::repeat_answer(Connection& c, uint16_t only) {
    if (c.has_answer && attribute_of(c.answer) == only) send(c, c.answer);
}

// The owner is done with the connection, but the answer may be lost and the question repeated. Each
// repeat extends the connection by the time in which the peer could ask again.
void Desk::remember(Instant now, Connection& c, State state) {
    leave_backlog(c);
    c.state = state;
    c.abandoned = true;
    table.forget_remote_qpn(c);
    table.set_deadline(c, now + 2 * c.peer_patience);
}

}  // namespace tulle::transport::cm
