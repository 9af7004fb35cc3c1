// Connecting before the peer listens. A server that has told its client over a socket that it is
// ready may still be about to listen. On a network, resolving addresses and routes takes long
// enough; here the server gets a moment.
//
// rdma_connect() waits neither for it nor for the answer of a process that is not known yet, which
// may be stopped. A thread looks for the listener, and lives as long as an id waits for one. It is
// not the thread of the host: meeting a process means waiting for its answer, and that thread must
// answer others.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "base/time.h"
#include "verbs/rdmacm/ids.h"

namespace tulle::verbs {

class Seeker {
public:
    explicit Seeker(Manager& manager) : manager_(manager) {}

    // Looks for a while for a listener at the id's destination, then connects. A thread does it;
    // the caller does not wait. Call this and the next with the lock held.
    void seek(Id& id, const rdma_conn_param* param);
    // The id is about to be destroyed.
    void forget(const Id& id);
    // In the child of a fork.
    void abandon();

private:
    // An id that waits for a listener, with a copy of the program's parameters.
    struct Sought {
        uint64_t ticket;  // the id may be destroyed in between
        Id* id;
        base::Instant until;
        std::optional<rdma_conn_param> param;
        std::array<std::byte, 256> private_data;
    };
    void start();
    void keep_looking() noexcept;
    Sought* sought_from(uint64_t ticket);
    void look_for(const Sought& sought) noexcept;
    void finish(Sought& sought, uint32_t peer);

    Manager& manager_;
    std::vector<Sought> sought_;
    uint64_t next_ticket_ = 0;
    bool is_looking_ = false;  // the thread exists
};

}  // namespace tulle::verbs
