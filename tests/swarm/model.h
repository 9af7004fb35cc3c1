// What each service promises, written down apart from the engine.
//
//   every queue      work completes once, in order; unsignalled work completes only if it fails;
//                    behind a failure everything is flushed, in order
//   RC               success means done, whole, exactly once and in order; a failure means that a
//                    part of it, all or nothing was done
//   UC               a SEND is received whole or not at all; of a WRITE any part may be there;
//   order
//                    and once, as far as the network keeps them
//   UD               received as often as the network brought it, at most, and whole
//   atomics          each success once, each failure at most once, in order on a queue pair
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

struct Tally {
    uint64_t rc_operations = 0;  // posted
    uint64_t rc_successes = 0;
    uint64_t received = 0;
    uint64_t packets = 0;
    uint64_t through_bytes = 0;
    uint64_t damaged = 0;

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
    // The network hands this packet to an adapter.
    void on_arrival(const wire::Packet& packet);

    // All queue pairs are in the error state and everything has completed.
    void check_end();

    Tally tally;

    static std::vector<std::byte> grh_bytes();

private:
    Station& station_of(uint32_t side) { return world_.stations[world_.sides[side].adapter]; }
    std::vector<std::byte> content(uint32_t side, const Operation& operation);

    void succeed(uint32_t side, uint32_t number);
    void check_written(uint32_t side, const Operation& operation);
    void check_read(uint32_t side, const Operation& operation);
    void check_original(uint32_t side, const Operation& operation);
    void check_message_arrived(uint32_t side, uint32_t number);
    void check_retries(uint32_t side);
    void check_failure(uint32_t side, const Operation& operation,
                       const transport::Completion& completion);

    void take_buffer(Pool& pool, uint32_t number);
    void check_flushed(uint32_t side, Pool& pool, const Buffer& buffer);
    uint32_t next_message(uint32_t side, const Side& peer);
    std::pair<uint32_t, uint32_t> named_message(uint32_t side, const Buffer& buffer,
                                                const transport::Completion& completion);
    void check_received(uint32_t side, Pool& pool, const Buffer& buffer,
                        const transport::Completion& completion, const Operation& operation,
                        uint32_t from);

    void settle_rest(uint32_t side);
    void check_partly(Station& station, const Pieces& pieces, std::span<const std::byte> full);
    void check_unknown(uint32_t side, Operation& operation);
    void check_counter(Counter& counter);

    World& world_;
};

}  // namespace tulle::swarm
