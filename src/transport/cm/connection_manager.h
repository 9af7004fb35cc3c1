// Connection management of one port (IBTA vol 1, chapter 12): connects a queue pair to a peer,
// negotiates its attributes, and disconnects it. Without I/O: the owner carries the datagrams.
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
// - RTU is sent when the owner calls ready(): only the owner knows when its QP can receive. The
//   passive side may see a packet on its QP before the RTU, or instead of a lost one; the owner
//   then calls communication_established().
// - A DREQ is answered at once. The owner has nothing to add, and if a program forgot to answer,
//   its peer would wait for all retries.
// - Every handle ends with exactly one event that has `last` set, unless the owner gave it up
//   before by reject() or abandon(); then no more events come.
// - Every message of a peer is counted (stats()), and answered or dropped; none is treated as our
//   own mistake. Calls in a wrong state return a status.
// - Two sides may connect() to each other, peer_to_peer. One of them becomes the passive side: its
//   handle gets CmRequestArrived, without a listener.
// - A REJ that names another port or manager is CmRedirected: call follow() or abandon().
//
// Not here: reliable datagrams, SAP and SPR.
//
// This file has the owner's calls; roles.h has what each role does.
#pragma once

#include <optional>

#include "transport/cm/desk.h"

namespace tulle::transport {

class ConnectionManager {
public:
    // Communication and transaction IDs are drawn from `random`.
    ConnectionManager(const CmConfig& config, base::RandomStream random) : desk_(config, random) {}

    // Active side.
    CmOpened connect(base::Instant now, const ConnectRequest& request);
    CmStatus ready(base::Instant now, CmHandle handle, wire::Bytes private_data = {});  // 224 bytes

    CmStatus follow(base::Instant now, CmHandle handle, uint32_t endpoint, const CmPath& path);

    // Passive side. A service ID matches if it is equal under the mask. While `backlog` requests
    // wait for accept() or reject(), further ones are refused for lack of resources.
    CmListening listen(wire::Key64 service_id, wire::Key64 mask = wire::Key64{~uint64_t{0}},
                       uint32_t backlog = UINT32_MAX);
    CmStatus stop_listening(CmListener listener);
    CmStatus accept(base::Instant now, CmHandle handle, const AcceptReply& reply);
    CmStatus communication_established(base::Instant now, CmHandle handle);
    // The owner has no room for a request now: forgets it, as if it had not come; the peer
    // retransmits it.
    CmStatus ignore(CmHandle handle);

    // Both sides. reject() answers a REQ or a REP, or cancels an accept().
    CmStatus reject(base::Instant now, CmHandle handle, const Rejection& rejection);
    // Asks the peer for time (MRA) after a REQ or a REP; 222 bytes of private data.
    CmStatus prepare(CmHandle handle, uint8_t service_timeout, wire::Bytes private_data = {});
    CmStatus disconnect(base::Instant now, CmHandle handle,
                        wire::Bytes private_data = {});  // 220 bytes
    // The owner wants no more events: ends the connection in an orderly way. Always possible.
    CmStatus abandon(base::Instant now, CmHandle handle);

    // The process at this end point is gone: ends its connections at once, without a message and
    // without time wait, because none of its packets can arrive any more (gone.cc).
    void lose_endpoint(uint32_t endpoint);

    // The network reports that messages to this end point do not arrive: `is_refused` if its host
    // answers that nobody takes them. A peer may be about to begin, so questions that are younger
    // than a second are asked again; older ones end. `quoted`: the message that the report quotes,
    // if it does. A refusal that quotes our question about a connection ends it (alive.cc).
    void on_unreachable(base::Instant now, uint32_t endpoint, bool is_refused,
                        wire::Bytes quoted = {});

    // Datagram services.
    CmOpened resolve_service(base::Instant now, const ServiceRequest& request);
    CmStatus answer_service(base::Instant now, CmHandle handle, const ServiceAnswer& answer);

    void on_mad(base::Instant now, uint32_t source_endpoint, wire::Qpn source_qpn, wire::Bytes mad);
    void on_timer(base::Instant now);

    std::optional<CmOutgoing> poll_mad(base::Instant now);
    std::optional<CmEvent> poll_event();
    base::Instant next_deadline() const { return desk_.table.next_deadline(); }

    const CmStats& stats() const { return desk_.stats; }
    // Includes those in time wait, and those kept only to repeat an answer.
    size_t open_connections() const { return desk_.table.size(); }

private:
    using Connection = cm::Connection;
    using State = cm::State;

    cm::Desk desk_;
};

}  // namespace tulle::transport
