// One connection as its manager stores it, and the tables that find it for a message.
//
// Two messages are kept. The last one that waits for an answer (REQ, REP, DREQ, LAP, SIDR_REQ) may
// have to be retransmitted after a timeout. The last answer (MRA, RTU, REJ, APR, SIDR_REP) is
// repeated if its question comes twice.
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

// The states of the figures in 12.9.5 and 12.9.6, and at the end those of 12.11. Two states of the
// figures are missing: whether a peer has asked for time by MRA shows only in the deadline.
enum class State : uint8_t {
    req_sent,
    redirected,    // the owner has to follow()
    rep_received,  // the owner has to call ready()
    req_received,  // the owner has to accept() or reject()
    rep_sent,
    established,
    dreq_sent,
    time_wait,
    refused,  // we sent REJ; kept for a while to repeat it
    sidr_sent,
    sidr_received,
    sidr_answered,  // kept for a while to repeat the answer
};

struct Connection {
    CmHandle self;
    State state = State::req_sent;
    bool active = false;     // we sent the REQ
    bool abandoned = false;  // the owner wants no more events of it
    bool end_told = false;   // the owner was told that it is disconnected
    bool has_remote = false;
    bool peer_to_peer = false;
    bool is_watched = false;   // the peer is asked now and then whether it knows the connection ...
    bool has_vouched = false;  // ... and has answered
    uint8_t unanswered = 0;    // such questions, in a row
    uint8_t redirections = 0;
    CmListener backlog;  // the listener in whose backlog it waits, if any

    uint32_t local_id = 0;
    uint32_t remote_id = 0;
    wire::Guid remote_guid;
    wire::Qpn local_qpn;
    wire::Qpn remote_qpn;

    uint32_t endpoint = 0;
    wire::Qpn cm_qpn{1};             // of the peer's manager
    wire::Key64 transaction_id;      // of the current exchange
    wire::Key64 establishment;       // of the first REQ
    wire::Key64 asked_by;            // of the questions that count as unanswered
    wire::Key64 service_id;          // of a SIDR_REQ that we answer, or of our own REQ
    base::Duration response_time{};  // how long the peer may take, round trip included
    base::Duration peer_patience{};  // the time after which the peer retransmits
    base::Duration round_trip_time{};
    base::Duration time_wait_time{};
    uint8_t max_retries = 0;

    uint8_t retries_left = 0;
    base::Instant asked_at{};  // the first time
    base::Duration wait{};
    base::Duration wait_after_early{};  // the early repeat comes first; zero: sent, or none
    base::Instant deadline = base::Instant::never();
    CmDatagram question{};
    CmDatagram answer{};
    bool has_answer = false;

    Ids ids() const { return {local_id, remote_id}; }
};

// All memory of a connection is allocated when it is opened, so only open() may fail for lack of
// it, and then without effect.
class ConnectionTable {
public:
    ConnectionTable(const CmConfig& config, base::RandomStream random)
        : most_(config.max_connections),
          id_mask_(config.id_mask),
          id_value_(config.id_value),
          random_(random) {}

    // A new connection with a unique local ID; nullptr if there is no room.
    Connection* open();
    void close(Connection& connection);

    Connection* find(CmHandle handle);
    Connection* by_local_id(uint32_t id);
    Connection* by_remote_id(uint32_t endpoint, wire::Guid guid, uint32_t id);
    Connection* by_remote_qpn(uint32_t endpoint, wire::Guid guid, wire::Qpn qpn);
    Connection* by_request_id(uint32_t endpoint, uint32_t request_id);
    // An established connection to the process with this GUID: always the same one until it ends.
    Connection* first_established(uint32_t endpoint, wire::Guid guid);

    // Connections whose peer is at this end point.
    std::vector<CmHandle> at_endpoint(uint32_t endpoint) const;

    // Makes the connection findable by its remote ID, its remote QPN, its request ID.
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
    // A number together with its owner. Several processes share a GUID, and a process that replaces
    // another may reuse its numbers.
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
