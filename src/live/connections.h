// The peer of each queue pair of this process, and what that peer is shown of the queue pair.
#pragma once

#include <vector>

#include "live/choice.h"
#include "transport/adapter.h"

namespace tulle::live {

class Connections {
public:
    struct Route {
        wire::Qpn qpn{};
        transport::EndpointIndex endpoint{};
        wire::Gid named{};          // the address that the program gave; zeros if it gave none
        uint8_t ack_timeout = 0;    // what the program asked for
        bool is_connected = false;  // `endpoint` counts it
        Ends ends;
        bool is_agreed = false;          // the peer's ends match ours
        bool sends_only_copies = false;  // all its packets under way are of copies (posting.h)
    };

    Connections(World& world, transport::Adapter& adapter, Framing framing)
        : world_(world), adapter_(adapter), framing_(framing) {}

    size_t size() const { return routes_.size(); }
    void resize(size_t size) { routes_.resize(size); }
    Route& of(wire::Qpn qpn) { return routes_[transport::Core::index_of(qpn)]; }
    // How work for an end point travels.
    Choice way_to(transport::EndpointIndex endpoint) const {
        return choose_way(world_, framing_, endpoint);
    }
    bool cuts_packets(transport::EndpointIndex endpoint) const {
        return is_cut(way_to(endpoint).way);
    }

    void connect(Route& route, transport::EndpointIndex endpoint);
    void forget(wire::Qpn qpn);
    // Whether both ends of a connection send from addresses of one kind, and to each other's port:
    // RoCE v1 and v2 do not understand each other, and a queue pair receives only at its own port.
    // True as long as the peer has not shown its ends.
    bool agrees(Route& route);
    // Shows peers what became of the queue pair.
    void note(const transport::QueuePair& qp);
    // Restarts the timeouts of peers that have not read what we wrote: they had no CPU time, or
    // were stopped. Silence counts from when they have read it.
    void excuse_slow_peers(base::Instant now);
    // The peer has ended: from now on its connections time out as the program asked.
    void on_left(uint32_t peer, base::Instant now);
    // The machine of this end point runs Tulle: lost packets to and from it are retransmitted
    // selectively. To all others it is go-back-N, which every adapter understands.
    void on_ours(uint32_t peer);
    // How long a queue pair waits for an acknowledgement.
    uint8_t ack_timeout_of(const Route& route) const;

private:
    World& world_;
    transport::Adapter& adapter_;
    const Framing framing_;
    std::vector<Route> routes_;  // by index of the queue pair
};

// A longer timeout: a process that shares a CPU with others answers later than an adapter would.
uint8_t patient(uint8_t ack_timeout);

}  // namespace tulle::live
