// Connection management of one port (IBTA vol 1, chapter 12): finds a partner for a queue pair,
// agrees on numbers with it, and parts again. Without I/O: the owner carries the datagrams.
//
//   in :  connect() accept() disconnect() ...  on_mad(now, ...)  on_timer(now)
//   out:  poll_mad(now)  poll_event()  next_deadline()
//
// After each call of the first kind the owner drains the second kind. `now` never goes backwards.
//
//        active                                        passive
//        connect()          ---- REQ --->              CmRequestArrived
//                           <--- MRA ----              prepare(), if it takes long
//        CmReplyArrived     <--- REP ----              accept(), or reject()
//        ready()            ---- RTU --->              CmEstablished
//        CmEstablished
//        disconnect()       ---- DREQ -->              CmDisconnected
//        CmDisconnected     <--- DREP ----
//        CmTimeWaitOver                                CmTimeWaitOver
//
// - RTU is sent when the owner says so: only it knows when its QP can receive. The passive side may
//   see a packet on its QP before the RTU, or instead of it, if that is lost; the owner says
//   communication_established() then.
// - A DREQ is answered at once. The owner has nothing to add, and a program that forgets to answer
//   would let its peer wait for all retries.
// - Every handle ends with exactly one event that has `last` set, unless the owner gave it up
// before
//   by reject() or abandon(); of these nothing more is heard.
// - Whatever a peer sends is counted (stats()) and answered or dropped; nothing of it is our
// mistake.
//   Calls that are not due give a status.
// - Two sides may connect() to each other, peer_to_peer. One of them sees its handle become the
//   passive side: CmRequestArrived, without a listener.
// - A REJ that names another port or manager is CmRedirected: follow() it, or abandon().
//
// Not here: reliable datagrams, SAP and SPR.
//
// Each role has its file: active.cc, passive.cc, peer.cc, reject.cc, redirect.cc, disconnect.cc,
// gone.cc, alternate_path.cc, service_resolution.cc; what happens when time is up is in timers.cc.
#pragma once

#include <optional>
#include <vector>

#include "base/random.h"
#include "base/ring.h"
#include "base/time.h"
#include "transport/cm/connection.h"
#include "transport/cm/events.h"
#include "transport/cm/types.h"
#include "wire/mad/mad.h"

namespace tulle::transport {

class ConnectionManager {
public:
    // Communication and transaction IDs are drawn from `random`.
    ConnectionManager(const CmConfig& config, base::RandomStream random)
        : config_(config), table_(config, random) {}

    // Active side.
    CmOpened connect(base::Instant now, const ConnectRequest& request);
    CmStatus ready(CmHandle handle, wire::Bytes private_data = {});  // 224 bytes

    CmStatus follow(base::Instant now, CmHandle handle, uint32_t endpoint, const CmPath& path);

    // Passive side. A service ID matches if it is equal under the mask. While `backlog` requests
    // wait for accept() or reject(), others are refused for want of resources.
    CmListening listen(wire::Key64 service_id, wire::Key64 mask = wire::Key64{~uint64_t{0}},
                       uint32_t backlog = UINT32_MAX);
    CmStatus stop_listening(CmListener listener);
    CmStatus accept(base::Instant now, CmHandle handle, const AcceptReply& reply);
    CmStatus communication_established(CmHandle handle);
    // The owner has no room for a request now: it is as if it had not come, and comes again.
    CmStatus ignore(CmHandle handle);

    // Both sides. reject() answers a REQ or a REP, or takes an accept() back.
    CmStatus reject(base::Instant now, CmHandle handle, const Rejection& rejection);
    // Asks the peer for time (MRA) after a REQ or a REP; 222 bytes of private data.
    CmStatus prepare(CmHandle handle, uint8_t service_timeout, wire::Bytes private_data = {});
    CmStatus disconnect(base::Instant now, CmHandle handle,
                        wire::Bytes private_data = {});  // 220 bytes
    // The owner wants to hear no more: ends politely whatever is under way. Always possible.
    CmStatus abandon(base::Instant now, CmHandle handle);

    // The process at this end point is gone: what it had here ends at once, without a message and
    // without a rest, because nothing of it can come any more (gone.cc).
    void lose_endpoint(uint32_t endpoint);

    // Datagram services.
    CmOpened resolve_service(base::Instant now, const ServiceRequest& request);
    CmStatus answer_service(base::Instant now, CmHandle handle, const ServiceAnswer& answer);

    void on_mad(base::Instant now, uint32_t source_endpoint, wire::Qpn source_qpn, wire::Bytes mad);
    void on_timer(base::Instant now);

    std::optional<CmOutgoing> poll_mad(base::Instant now);
    std::optional<CmEvent> poll_event();
    base::Instant next_deadline() const { return table_.next_deadline(); }

    const CmStats& stats() const { return stats_; }
    // Those in time wait and those that are only remembered included.
    size_t open_connections() const { return table_.size(); }

private:
    using Connection = cm::Connection;
    using State = cm::State;

    // Where a message came from: what an answer needs.
    struct Arrival {
        base::Instant now;
        uint32_t endpoint;
        wire::Qpn qpn;
        wire::Key64 transaction_id;
    };

    struct Listener {
        CmListener name;
        uint64_t service_id;
        uint64_t mask;
        uint32_t backlog;
        uint32_t waiting;
    };

    // connection_manager.cc: what the roles share.
    void dispatch(const Arrival& from, uint16_t attribute, wire::Bytes data);
    void on_other_version(const Arrival& from, uint16_t attribute, wire::Bytes data);
    Connection* owned(CmHandle handle);
    Connection* by_ids(uint32_t local_id, uint32_t remote_id);
    Listener* listener_of(wire::Key64 service_id);
    void leave_backlog(Connection& c);
    void send(uint32_t endpoint, wire::Qpn qpn, const CmDatagram& mad);
    void send(const Connection& c, const CmDatagram& mad) { send(c.endpoint, c.cm_qpn, mad); }
    void ask(base::Instant now, Connection& c, const CmDatagram& mad, base::Duration wait);
    void answer(Connection& c, const CmDatagram& mad);
    void repeat_answer(Connection& c, uint16_t only);
    void repeat_answer(Connection& c);
    base::Duration peer_time(uint8_t code) const;
    template <class Message>
    void answer_unknown(const Arrival& from, const Message& message);
    void stop_waiting(Connection& c) { table_.set_deadline(c, base::Instant::never()); }
    template <class What>
    void tell(const Connection& c, What what, bool last = false);
    template <class What>
    void finish(Connection& c, What what);
    void remember(base::Instant now, Connection& c, State state);

    // active.cc
    void on_rep(const Arrival& from, const wire::CmRep& rep);
    void on_first_rep(const Arrival& from, Connection& c, const wire::CmRep& rep);
    void on_stale_rep(const Arrival& from, Connection& c, const wire::CmRep& rep);
    void on_repeated_rep(const Arrival& from, Connection& c, const wire::CmRep& rep);

    // passive.cc
    void on_req(const Arrival& from, const wire::CmReq& req);
    void on_known_req(const Arrival& from, const wire::CmReq& req, Connection& c);
    void on_repeated_req(const Arrival& from, const wire::CmReq& req, Connection& c);
    void on_new_req(const Arrival& from, const wire::CmReq& req);
    std::optional<uint16_t> judge(const Arrival& from, const wire::CmReq& req, bool crosses);
    std::optional<uint16_t> judge_listener(const wire::CmReq& req);
    void refuse(const Arrival& from, const wire::CmReq& req, uint16_t reason);
    void open_passive(const Arrival& from, const wire::CmReq& req, Connection& c);
    void supersede(Connection& c);
    void on_rtu(const Arrival& from, const wire::CmRtu& rtu);
    void establish(Connection& c, const CmEstablished& what);

    // peer.cc
    Connection* crossed_by(const Arrival& from, const wire::CmReq& req);
    bool stays_active(const Connection& c, const wire::CmReq& req) const;
    bool is_early(const Connection& c, const wire::CmRej& rej) const;

    // redirect.cc
    bool is_redirected(Connection& c, const wire::CmRej& rej);
    void on_get(const Arrival& from, uint16_t attribute);

    // reject.cc
    void on_mra(const Arrival& from, const wire::CmMra& mra);
    bool is_awaited(const Connection& c, const wire::CmMra& mra) const;
    void on_rej(const Arrival& from, const wire::CmRej& rej);
    Connection* rejected_by(const Arrival& from, const wire::CmRej& rej);
    void end_establishment(base::Instant now, Connection& c, const wire::CmRej& rej);
    void send_rejection(Connection& c, const Rejection& rejection, wire::CmAnswered answered);

    // disconnect.cc
    void on_dreq(const Arrival& from, const wire::CmDreq& dreq);
    void on_drep(const Arrival& from, const wire::CmDrep& drep);
    void send_dreq(base::Instant now, Connection& c, wire::Bytes private_data);
    void end(base::Instant now, Connection& c, const CmDisconnected& what);
    void end_stale(base::Instant now, Connection& c);
    void enter_time_wait(base::Instant now, Connection& c);

    // gone.cc
    void lose(Connection& c);
    void lose_establishing(Connection& c, uint16_t reason, wire::CmAnswered answered);

    // alternate_path.cc
    void on_lap(const Arrival& from, const wire::CmLap& lap);

    // service_resolution.cc
    void on_sidr_req(const Arrival& from, const wire::CmSidrReq& req);
    void on_known_sidr_req(const Arrival& from, Connection& c);
    void refuse_service(const Arrival& from, const wire::CmSidrReq& req, wire::CmSidrStatus why);
    void on_sidr_rep(const Arrival& from, const wire::CmSidrRep& rep);

    // timers.cc
    void on_deadline(base::Instant now, Connection& c);
    void send_again(base::Instant now, Connection& c);
    void give_up(base::Instant now, Connection& c);

    CmConfig config_;
    cm::ConnectionTable table_;
    std::vector<Listener> listeners_;
    uint32_t last_listener_ = 0;
    std::vector<CmHandle> peers_;  // who may be crossed
    base::Ring<CmOutgoing> outgoing_{16};
    base::Ring<CmEvent> events_{16};
    CmStats stats_;
};

// ---------------------------------------------------------------------------------------------

template <class Message>
void ConnectionManager::answer_unknown(const Arrival& from, const Message& message) {
    send(from.endpoint, from.qpn, cm::datagram(message, from.transaction_id));
}

template <class What>
void ConnectionManager::tell(const Connection& c, What what, bool last) {
    if (c.abandoned) return;
    if (events_.full()) events_.grow();
    events_.push_back(CmEvent{c.self, last, std::move(what)});
}

template <class What>
void ConnectionManager::finish(Connection& c, What what) {
    tell(c, std::move(what), true);
    leave_backlog(c);
    table_.close(c);
}

}  // namespace tulle::transport
