// The state that all roles of a connection manager share: connections, listeners, outgoing messages
// and events. roles.h lists the functions of each role.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/ring.h"
#include "base/time.h"
#include "transport/cm/connection.h"
#include "transport/cm/events.h"
#include "transport/cm/messages.h"
#include "transport/cm/types.h"
#include "wire/mad/mad.h"

namespace tulle::transport::cm {

// The origin of a message, as needed for an answer.
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

class Desk {
public:
    Desk(const CmConfig& configuration, base::RandomStream random)
        : config(configuration), table(configuration, random) {}

    // Null if there is none, or the owner abandoned it.
    Connection* owned(CmHandle handle);
    // The connection that a message is for. It counts only from the peer's end point: who merely
    // guesses its ID, from anywhere, is not heard.
    Connection* by_ids(const Arrival& from, uint32_t local_id, uint32_t remote_id);
    Connection* by_local_id(const Arrival& from, uint32_t local_id);
    Listener* listener_of(wire::Key64 service_id);
    void leave_backlog(Connection& c);

    void send(uint32_t endpoint, wire::Qpn qpn, const CmDatagram& mad);
    void send(const Connection& c, const CmDatagram& mad) { send(c.endpoint, c.cm_qpn, mad); }
    void ask(base::Instant now, Connection& c, const CmDatagram& mad, base::Duration wait);
    void answer(Connection& c, const CmDatagram& mad);
    void repeat_answer(Connection& c, uint16_t only);
    void repeat_answer(Connection& c);
    template <class Message>
    void answer_unknown(const Arrival& from, const Message& message) {
        send(from.endpoint, from.qpn, datagram(message, from.transaction_id));
    }

    base::Duration peer_time(uint8_t code) const;
    void stop_waiting(Connection& c) { table.set_deadline(c, base::Instant::never()); }
    void remember(base::Instant now, Connection& c, State state);

    template <class What>
    void tell(const Connection& c, What what, bool last = false) {
        if (c.abandoned) return;
        if (events.full()) events.grow();
        events.push_back(CmEvent{c.self, last, std::move(what)});
    }
    template <class What>
    void finish(Connection& c, What what) {
        tell(c, std::move(what), true);
        leave_backlog(c);
        table.close(c);
    }

    CmConfig config;
    ConnectionTable table;
    std::vector<Listener> listeners;
    uint32_t last_listener = 0;
    std::vector<CmHandle> peers;  // connections that may be crossed
    base::Ring<CmOutgoing> outgoing{16};
    base::Ring<CmEvent> events{16};
    CmStats stats;
};

}  // namespace tulle::transport::cm
