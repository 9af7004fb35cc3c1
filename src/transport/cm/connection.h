// One connection as its manager remembers it, and the tables by which messages find it.
//
// Two messages are kept: the last one that waits for an answer (REQ, REP, DREQ, LAP, SIDR_REQ),
// because it may have to be sent again when time is up, and the last answer (MRA, RTU, REJ, APR,
// SIDR_REP), because it is given again when its question comes twice.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/pool.h"
#include "base/random.h"
#include "base/time.h"
#include "transport/cm/messages.h"
#include "transport/cm/types.h"

namespace tulle::transport::cm {

// The states of the figures in 12.9.5 and 12.9.6, and at the end those of 12.11. Two of the
// figures' are not here: whether a peer has asked for time by MRA shows in the deadline, nowhere
// else.
enum class State : uint8_t {
    req_sent,
    redirected,    // the owner has to follow()
    rep_received,  // the owner has to call ready()
    req_received,  // the owner has to accept() or reject()
    rep_sent,
    established,
    dreq_sent,
    time_wait,
    refused,  // we said REJ; kept for a while to say it again
    sidr_sent,
    sidr_received,
    sidr_answered,  // kept for a while to answer again
};

struct Connection {
    CmHandle self;
    State state = State::req_sent;
    bool active = false;     // we sent the REQ
    bool abandoned = false;  // the owner does not want to hear of it
    bool end_told = false;   // the owner knows that it is disconnected
    bool has_remote = false;
    bool peer_to_peer = false;
    uint8_t redirections = 0;
    CmListener backlog;  // in whose it is, if it waits in one

    uint32_t local_id = 0;
    uint32_t remote_id = 0;
    wire::Guid remote_guid;
    wire::Qpn local_qpn;
    wire::Qpn remote_qpn;

    uint32_t endpoint = 0;
    wire::Qpn cm_qpn{1};             // of the peer's manager
    wire::Key64 transaction_id;      // of the exchange under way
    wire::Key64 establishment;       // of the REQ that began it all
    wire::Key64 service_id;          // of a SIDR_REQ that we answer, or of our own REQ
    base::Duration response_time{};  // how long the peer may take, both ways included
    base::Duration peer_patience{};  // after what time the peer sends again
    base::Duration round_trip_time{};
    base::Duration time_wait_time{};
    uint8_t max_retries = 0;

    uint8_t retries_left = 0;
    base::Duration wait{};
    base::Instant deadline = base::Instant::never();
    CmDatagram question{};
    CmDatagram answer{};
    bool has_answer = false;

    Ids ids() const { return {local_id, remote_id}; }
};

// All the memory that a connection needs is taken when it is opened: only open() may find that
// there is none, and then nothing has happened.
class ConnectionTable {
public:
    ConnectionTable(const CmConfig& config, base::RandomStream random)
        : most_(config.max_connections),
          id_mask_(config.id_mask),
          id_value_(config.id_value),
          random_(random) {}

    // A new connection with a local ID that no other has; nullptr if there is no room.
    Connection* open();
    void close(Connection& connection);

    Connection* find(CmHandle handle);
    Connection* by_local_id(uint32_t id);
    Connection* by_remote_id(uint32_t endpoint, wire::Guid guid, uint32_t id);
    Connection* by_remote_qpn(uint32_t endpoint, wire::Guid guid, wire::Qpn qpn);
    Connection* by_request_id(uint32_t endpoint, uint32_t request_id);

    // Those whose peer is there.
    std::vector<CmHandle> at_endpoint(uint32_t endpoint) const;

    // From here on the connection is found under its remote ID, its remote QPN, its request ID.
    void index_remote_id(const Connection& connection);
    void index_remote_qpn(const Connection& connection);
    void index_request_id(const Connection& connection);
    void forget_remote_qpn(const Connection& connection);

    void set_deadline(Connection& connection, base::Instant at);
    base::Instant next_deadline() const;
    Connection* due(base::Instant now);

    wire::Key64 new_transaction_id() { return wire::Key64{random_.next()}; }
    size_t size() const { return pool_.live(); }

private:
    using Pool = base::Pool<Connection>;
    // What a peer calls its own: several processes share a GUID, and one that takes the place of
    // another may use its numbers again.
    struct Key {
        uint32_t endpoint = 0;
        wire::Guid guid;
        uint32_t number = 0;
        auto operator<=>(const Key&) const = default;
    };
    using Index = std::map<Key, CmHandle>;

    Connection* look_up(const Index& index, Key key);
    void reserve_entries(Connection& connection);
    static Key reserved_key(CmHandle handle);
    static void enter(Index& index, Key key, CmHandle handle);
    static void forget(Index& index, Key key, CmHandle handle);

    uint32_t most_;
    uint32_t id_mask_;
    uint32_t id_value_;
    base::RandomStream random_;
    Pool pool_;
    std::map<uint32_t, CmHandle> local_ids_;
    Index remote_ids_;
    Index remote_qpns_;
    Index request_ids_;
    std::set<std::pair<base::Instant, uint32_t>> deadlines_;
};

}  // namespace tulle::transport::cm
