// Refusing (REJ, 12.6.7), asking for time (MRA, 12.6.6), and giving up.
#include "transport/cm/connection_manager.h"
#include "transport/cm/messages.h"
#include "transport/cm/times.h"

namespace tulle::transport {

using base::Instant;

CmStatus ConnectionManager::reject(Instant now, CmHandle handle, const Rejection& rejection) {
    Connection* c = owned(handle);
    if (c == nullptr) return CmStatus::no_such_connection;
    if (const CmStatus status = cm::check(rejection); status != CmStatus::ok) return status;
    switch (c->state) {
        case State::req_received:
            send_rejection(*c, rejection, wire::kCmAnswersReq);
            remember(now, *c, State::refused);
            return CmStatus::ok;
        case State::rep_received:
            send_rejection(*c, rejection, wire::kCmAnswersRep);
            remember(now, *c, State::refused);
            return CmStatus::ok;
        case State::rep_sent:  // the peer may have begun to send: the QP has to rest
            send_rejection(*c, rejection, wire::kCmAnswersOther);
            c->abandoned = true;
            enter_time_wait(now, *c);
            return CmStatus::ok;
        default: return CmStatus::wrong_state;
    }
}

void ConnectionManager::send_rejection(Connection& c, const Rejection& rejection,
                                       wire::CmAnswered answered) {
    answer(c, cm::datagram(cm::rej_message(rejection, answered, c.ids()), c.transaction_id));
}

CmStatus ConnectionManager::prepare(CmHandle handle, uint8_t service_timeout,
                                    wire::Bytes private_data) {
    Connection* c = owned(handle);
    if (c == nullptr) return CmStatus::no_such_connection;
    if (service_timeout > kMaxTimeCode) return CmStatus::invalid;
    if (!cm::fits_data_of<wire::CmMra>(private_data)) return CmStatus::too_long;
    if (c->state != State::req_received && c->state != State::rep_received)
        return CmStatus::wrong_state;
    const auto answered =
        c->state == State::req_received ? wire::kCmAnswersReq : wire::kCmAnswersRep;
    answer(*c, cm::datagram(cm::mra_message(answered, service_timeout, private_data, c->ids()),
                            c->transaction_id));
    return CmStatus::ok;
}

// The peer wants time. A REP has not come yet after a REQ, so its ID is still unknown then.
void ConnectionManager::on_mra(const Arrival& from, const wire::CmMra& mra) {
    Connection* c = table_.by_local_id(mra.remote_communication_id.value);
    const bool known =
        c != nullptr && (!c->has_remote || c->remote_id == mra.local_communication_id.value);
    if (!known) {
        ++stats_.unknown;
        return;
    }
    if (!is_awaited(*c, mra)) {
        ++stats_.wrong_state;
        return;
    }
    table_.set_deadline(*c, from.now + peer_time(mra.service_timeout) + c->round_trip_time);
    tell(*c, CmMoreTime{mra});
}

bool ConnectionManager::is_awaited(const Connection& c, const wire::CmMra& mra) const {
    switch (mra.message_mraed) {
        case wire::kCmAnswersReq: return c.state == State::req_sent;
        case wire::kCmAnswersRep: return c.state == State::rep_sent;
        default: return false;
    }
}

void ConnectionManager::on_rej(const Arrival& from, const wire::CmRej& rej) {
    Connection* c = rejected_by(from, rej);
    if (c == nullptr) {
        ++stats_.unknown;
        return;
    }
    switch (c->state) {
        case State::req_sent:
            if (is_early(*c, rej) || is_redirected(*c, rej)) return;
            return end_establishment(from.now, *c, rej);
        case State::req_received:
        case State::rep_sent: return end_establishment(from.now, *c, rej);
        case State::rep_received:  // from here on the QP may have packets under way
        case State::established:
            tell(*c, CmRejected{.message = rej});
            return enter_time_wait(from.now, *c);
        case State::dreq_sent: return end(from.now, *c, {.how = CmEnd::peer_unaware});
        default: ++stats_.wrong_state;
    }
}

// A peer that gave up before it learned our ID says who it is (12.6.7.2, reason 4). One that
// refuses a REQ may have no ID of its own. Everybody else names both.
cm::Connection* ConnectionManager::rejected_by(const Arrival& from, const wire::CmRej& rej) {
    const uint32_t our_id = rej.remote_communication_id.value;
    const uint32_t peer_id = rej.local_communication_id.value;
    if (const auto guid = cm::guid_in(rej); guid && our_id == 0) {
        Connection* c = table_.by_remote_id(from.endpoint, *guid, peer_id);
        const bool untold = c != nullptr && !c->active &&
                            (c->state == State::req_received || c->state == State::rep_sent);
        return untold ? c : nullptr;
    }
    Connection* c = table_.by_local_id(our_id);
    if (c == nullptr) return nullptr;
    if (!c->has_remote)
        return c->active && rej.message_rejected == wire::kCmAnswersReq ? c : nullptr;
    return c->remote_id == peer_id ? c : nullptr;
}

// A stale connection at the far end (12.9.8.3.1) means that our QP has packets in its past.
void ConnectionManager::end_establishment(Instant now, Connection& c, const wire::CmRej& rej) {
    if (rej.reason != wire::kCmRejectStaleConnection) return finish(c, CmRejected{.message = rej});
    tell(c, CmRejected{.message = rej});
    enter_time_wait(now, c);
}

CmStatus ConnectionManager::abandon(Instant now, CmHandle handle) {
    Connection* c = owned(handle);
    if (c == nullptr) return CmStatus::no_such_connection;
    switch (c->state) {
        case State::req_sent:
            send(*c, cm::datagram(cm::timeout_rej_message(config_, wire::kCmAnswersOther, c->ids()),
                                  c->transaction_id));
            table_.close(*c);
            return CmStatus::ok;
        case State::redirected:
        case State::sidr_sent: table_.close(*c); return CmStatus::ok;
        case State::req_received:
        case State::rep_received:
        case State::rep_sent: return reject(now, handle, {});
        case State::sidr_received:
            return answer_service(now, handle, {.status = wire::kSidrRejected});
        case State::established: send_dreq(now, *c, {}); break;
        default: break;  // ends by itself
    }
    c->abandoned = true;
    return CmStatus::ok;
}

}  // namespace tulle::transport
