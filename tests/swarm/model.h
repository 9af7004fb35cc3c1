// What each service promises, written down apart from the engine.
//
//   every queue      work completes once, in order; unsignalled work completes only if it fails;
//                    behind a failure everything is flushed, in order
//   RC and XRC       success means done, whole, exactly once and in order; a failure means that a
//                    part of it, all or nothing was done, and ends the connection
//   RC in any order  the same, but messages may overtake one another at the receiver
//   XRC              a message takes its receive from the queue that it names, and from no queue of
//                    another domain; on each queue the messages of a connection keep their order
//   RD               success as with RC; a failure stops the send queue, which goes on when it is
//                    resumed. A message that was given up is received whole, is aborted, or leaves
//                    no trace; over one EE context the messages of a queue pair keep their order,
//                    and one message at a time is under way. What is wrong with one message (its
//                    key, Q_Key or domain) is told for that message, and others go on
//   UC               a SEND is received whole or not at all; of a WRITE any part may be there;
//                    order and once, as far as the network keeps them
//   UD               received as often as the network brought it, at most, and whole
//   groups           each member receives as often as the network brought it to its adapter, at
//                    most; nobody else does, nor a member with another Q_Key
//   atomics          each success once, each failure at most once, in order on a queue pair
//   destruction      what was posted is gone without a word, and was done in part, whole or not at
//                    all; whoever has the number next has nothing to do with it. Datagrams name
//                    nothing but the number, so that they may be late and still arrive
//   regions          what goes away is not touched any more, and work that needs it fails; so does
//                    work that asks a window for what it does not allow
//   shared queues    the limit is told once, when fewer wait, and not before
//   migration        changes the way, and nothing else; only who has another one changes to it, and
//                    who does not follow its peer was told of another port than it comes from
//   memory           nothing changes but where an operation says so
//
// The model keeps a shadow of all memory. Whatever is done is checked and put into the shadow; at
// the end both must be the same. A rule that does not hold throws a Failure.
#pragma once

#include <stdexcept>

#include "world.h"

namespace tulle::swarm {

struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

inline void require(bool holds, const char* rule) {
    if (!holds) throw Failure(rule);
}

// Work of a service: posted, and done.
struct Share {
    uint64_t operations = 0;
    uint64_t successes = 0;

    Share& operator+=(const Share& other);
};

struct Tally {
    Share rc;
    Share xrc;
    Share rd;
    uint64_t received = 0;
    uint64_t received_from_groups = 0;
    uint64_t packets = 0;
    uint64_t through_bytes = 0;
    uint64_t damaged = 0;
    uint64_t trimmed = 0;
    uint64_t too_early = 0;  // packets that a receiver did not keep
    uint64_t resyncs = 0;
    uint64_t aborted = 0;     // receives of RD
    uint64_t refused = 0;     // receives of WRITEs that may not write
    uint64_t made_again = 0;  // queue pairs
    uint64_t numbers_reused = 0;
    uint64_t migrated = 0;
    uint64_t not_migrated = 0;  // the peer has changed to another path than agreed upon
    uint64_t notified = 0;      // of congestion, and heeded
    uint64_t limits = 0;        // events of shared queues
    uint64_t too_late = 0;      // work that needed memory that had gone

    Tally& operator+=(const Tally& other);
};

class Model {
public:
    explicit Model(World& world) : world_(world) {}

    // How a post call was answered.
    void on_post(Side& side, transport::Refusal refusal);
    // The send queue and the receive queue of a side said this.
    void on_send_completion(uint32_t side, const transport::Completion& completion);
    void on_receive_completion(uint32_t side, const transport::Completion& completion);
    // An adapter sends this packet; the network hands this one to this adapter.
    void on_departure(const wire::Packet& packet);
    void on_arrival(uint32_t adapter, const wire::Packet& packet);
    // The user resumes a send queue that has failed; destroys a side; and makes it again.
    void on_resume(Side& side) { side.has_failed = false; }
    void on_destroy(uint32_t side);
    void on_create(uint32_t side);
    void on_deregister(Station& station);
    // An event of a side's: its path has changed, or the peer's has and it does not follow.
    void on_migrated(const Side& side);
    void on_migration_error(const Side& side);
    // Shared queues: the event, and that there is no more of them now.
    void on_limit(Pool& pool);
    void check_limits(uint32_t adapter);

    // All queue pairs are in the error state and everything has completed.
    void check_end();

    Tally tally;

    static std::vector<std::byte> grh_bytes();

private:
    Station& station_of(uint32_t side) { return world_.stations[world_.sides[side].adapter]; }
    void note_brought(uint32_t adapter, const wire::Packet& packet);
    std::vector<std::byte> content(uint32_t side, const Operation& operation);
    Share* share_of(QpType type);

    void succeed(uint32_t side, uint32_t number);
    void fail(Operation& operation);
    void check_written(uint32_t side, const Operation& operation);
    void check_read(uint32_t side, const Operation& operation);
    void check_original(uint32_t side, const Operation& operation);
    void check_retries(uint32_t side);
    void check_ee_retries(const Operation& operation);
    void check_failure(uint32_t side, const Operation& operation,
                       const transport::Completion& completion);
    void check_rd_failure(const Operation& operation, transport::Status status);
    bool has_objected(const Side& side) const;

    Pool& pool_named(uint32_t side, const transport::Completion& completion);
    void take_buffer(Pool& pool, uint32_t number);
    void check_flushed(uint32_t side, Pool& pool, const Buffer& buffer);
    void check_refused(uint32_t side, const Pool& pool);
    void check_given_up(uint32_t side, Pool& pool, const Buffer& buffer,
                        const transport::Completion& completion);
    std::pair<uint32_t, uint32_t> next_message(uint32_t side, uint32_t pool);
    std::pair<uint32_t, uint32_t> any_message(uint32_t side, const Buffer& buffer,
                                              const transport::Completion& completion);
    std::pair<uint32_t, uint32_t> named_message(uint32_t side, const Buffer& buffer,
                                                const transport::Completion& completion);
    void check_named(uint32_t side, uint32_t from, uint32_t message,
                     const transport::Completion& completion);
    void check_times(uint32_t side, uint32_t from, Operation& operation);
    void check_rd_times(uint32_t from, const Operation& operation);
    void check_received(uint32_t side, Pool& pool, const Buffer& buffer,
                        const transport::Completion& completion, const Operation& operation,
                        uint32_t from);
    void check_bytes(uint32_t side, Pool& pool, const Buffer& buffer,
                     const transport::Completion& completion, std::vector<std::byte> bytes);

    void settle_rest(uint32_t side);
    bool fits_partly(const Station& station, const Pieces& pieces, std::span<const std::byte> full);
    void check_partly(Station& station, const Pieces& pieces, std::span<const std::byte> full);
    void accept(Station& station, const Pieces& pieces);
    void check_unknown(uint32_t side, Operation& operation);
    void check_counter(Counter& counter);
    void check_memory(const Station& station);

    World& world_;
};

}  // namespace tulle::swarm
