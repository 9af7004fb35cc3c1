// Rejection (REJ, 12.6.7), requests for more time (MRA, 12.6.6), and abandonment.
#include "transport/cm/connection_manager.h"
#include "transport/cm/messages.h"
#include "transport/cm/roles.h"
#include "transport/cm/times.h"

namespace tulle::transport::cm {

using base::Instant;

namespace {

constexpr uint8_t kSmallestMtu = 1;  // MtuCode of 256 bytes

bool is_awaited(const Connection& c, const wire::CmMra& mra) {
    switch (mra.message_mraed) {
        case wire::kCmAnswersReq: return c.state == State::req_sent;
        case wire::kCmAnswersRep: return c.state == State::rep_sent;
        default: return false;
    }
}

// The connection that a REJ is for. A peer that gave up before it learned our ID gives its GUID
// (12.6.7.2, reason 4). A peer that rejects a REQ may have no ID of its own. All others give both
// IDs.
Connection* rejected_by(Desk& desk, const Arrival& from, const wire::CmRej& rej) {
    const uint32_t our_id = rej.remote_communication_id.value;
    const uint32_t peer_id = rej.local_communication_id.value;
    if (const auto guid = guid_in(rej); guid && our_id == 0) {
        Connection* c = desk.table.by_remote_id(from.endpoint, *guid, peer_id);
        const bool untold = c != nullptr && !c->active &&
                            (c->state == State::req_received || c->state == State::rep_sent);
        return untold ? c : nullptr;
    }
    Connection* c = desk.by_local_id(from, our_id);
    if (c == nullptr) return nullptr;
    if (!c->has_remote)
        return c->active && rej.message_rejected == wire::kCmAnswersReq ? c : nullptr;
    return c->remote_id == peer_id ? c : nullptr;
}

// A stale connection at the peer (12.9.8.3.1) means that our QP may still have old packets in
// flight.
void end_establishment(Desk& desk, Instant now, Connection& c, const wire::CmRej& rej) {
    if (rej.reason != wire::kCmRejectStaleConnection)
        return desk.finish(c, CmRejected{.message = rej});
    desk.tell(c, CmRejected{.message = rej});
    enter_time_wait(desk, now, c);
}

// Asks again for a smaller path MTU if the peer does not take ours. Its answer need not say which
// it takes.
bool is_narrowed(Desk& desk, Instant now, Connection& c, const wire::CmRej& rej) {
    if (rej.reason != wire::kCmRejectInvalidMtu) return false;
    auto req = *wire::parse<wire::CmReq>(wire::Bytes(c.question).subspan(wire::kCmDataOffset));
    if (req.path_mtu <= kSmallestMtu) return false;
    --req.path_mtu;
    c.establishment = c.transaction_id = desk.table.new_transaction_id();
    desk.ask(now, c, datagram(req, c.transaction_id), c.response_time);
    desk.tell(c, CmPathNarrowed{req.path_mtu});
    return true;
}

void send_rejection(Desk& desk, Connection& c, const Rejection& rejection,
                    wire::CmAnswered answered) {
    desk.answer(c, datagram(rej_message(rejection, answered, c.ids()), c.transaction_id));
}

}  // namespace

// The peer wants more time. After a REQ, no REP has arrived yet, so the peer's ID is still unknown.
void on_mra(Desk& desk, const Arrival& from, const wire::CmMra& mra) {
    Connection* c = desk.by_local_id(from, mra.remote_communication_id.value);
    const bool known =
        c != nullptr && (!c->has_remote || c->remote_id == mra.local_communication_id.value);
    if (!known) {
        ++desk.stats.unknown;
        return;
    }
    if (!is_awaited(*c, mra)) {
        ++desk.stats.wrong_state;
        return;
    }
    c->wait_after_early = {};
    desk.table.set_deadline(*c,
                            from.now + desk.peer_time(mra.service_timeout) + c->round_trip_time);
    desk.tell(*c, CmMoreTime{mra});
}

void on_rej(Desk& desk, const Arrival& from, const wire::CmRej& rej) {
    Connection* c = rejected_by(desk, from, rej);
    if (c == nullptr) {
        ++desk.stats.unknown;
        return;
    }
    switch (c->state) {
        case State::req_sent:
            if (is_early(*c, rej) || is_redirected(desk, *c, rej) ||
                is_narrowed(desk, from.now, *c, rej))
                return;
            return end_establishment(desk, from.now, *c, rej);
        case State::req_received:
        case State::rep_sent: return end_establishment(desk, from.now, *c, rej);
        case State::rep_received:  // from here on the QP may have packets in flight
        case State::established:
            desk.tell(*c, CmRejected{.message = rej});
            return enter_time_wait(desk, from.now, *c);
        case State::dreq_sent: return end(desk, from.now, *c, {.how = CmEnd::peer_unaware});
        default: ++desk.stats.wrong_state;
    }
}

}  // namespace tulle::transport::cm

namespace tulle::transport {

using base::Instant;

CmStatus ConnectionManager::reject(Instant now, CmHandle handle, const Rejection& rejection) {
    Connection* c = desk_.owned(handle);
    if (c == nullptr) return CmStatus::no_such_connection;
    if (const CmStatus status = cm::check(rejection); status != CmStatus::ok) return status;
    switch (c->state) {
        case State::req_received:
            cm::send_rejection(desk_, *c, rejection, wire::kCmAnswersReq);
            desk_.remember(now, *c, State::refused);
            return CmStatus::ok;
        case State::rep_received:
            cm::send_rejection(desk_, *c, rejection, wire::kCmAnswersRep);
            desk_.remember(now, *c, State::refused);
            return CmStatus::ok;
        case State::rep_sent:  // the peer may already send: the QP needs time wait
            cm::send_rejection(desk_, *c, rejection, wire::kCmAnswersOther);
            c->abandoned = true;
            enter_time_wait(desk_, now, *c);
            return CmStatus::ok;
        default: return CmStatus::wrong_state;
    }
}

CmStatus ConnectionManager::prepare(CmHandle handle, uint8_t service_timeout,
                                    wire::Bytes private_data) {
    Connection* c = desk_.owned(handle);
    if (c == nullptr) return CmStatus::no_such_connection;
    if (service_timeout > kMaxTimeCode) return CmStatus::invalid;
    if (!cm::fits_data_of<wire::CmMra>(private_data)) return CmStatus::too_long;
    if (c->state != State::req_received && c->state != State::rep_received)
        return CmStatus::wrong_state;
    const auto answered =
        c->state == State::req_received ? wire::kCmAnswersReq : wire::kCmAnswersRep;
    desk_.answer(*c,
                 cm::datagram(cm::mra_message(answered, service_timeout, private_data, c->ids()),
                              c->transaction_id));
    return CmStatus::ok;
}

CmStatus ConnectionManager::abandon(Instant now, CmHandle handle) {
    Connection* c = desk_.owned(handle);
    if (c == nullptr) return CmStatus::no_such_connection;
    switch (c->state) {
        case State::req_sent:
            desk_.send(*c, cm::datagram(cm::timeout_rej_message(desk_.config, wire::kCmAnswersOther,
                                                                c->ids()),
                                        c->transaction_id));
            desk_.table.close(*c);
            return CmStatus::ok;
        case State::redirected:
        case State::sidr_sent: desk_.table.close(*c); return CmStatus::ok;
        case State::req_received:
        case State::rep_received:
        case State::rep_sent: return reject(now, handle, {});
        case State::sidr_received:
            return answer_service(now, handle, {.status = wire::kSidrRejected});
        case State::established: send_dreq(desk_, now, *c, {}); break;
        default: break;  // ends by itself
    }
    c->abandoned = true;
    return CmStatus::ok;
}

}  // namespace tulle::transport
