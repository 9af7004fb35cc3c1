// Whom each queue pair of this process is connected to, and what its peer is shown of it.
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
        uint8_t ack_timeout = 0;    // what the program asked for
        bool is_connected = false;  // `endpoint` counts it
        Ends ends;
        bool is_agreed = false;  // the peer's are the same from its side
    };

    Connections(World& world, transport::Adapter& adapter, Framing framing)
        : world_(world), adapter_(adapter), framing_(framing) {}

    size_t size() const { return routes_.size(); }
    void resize(size_t size) { routes_.resize(size); }
    Route& of(wire::Qpn qpn) { return routes_[transport::Core::index_of(qpn)]; }
    // How work for an end point travels. Whoever has to know asks here.
    Choice way_to(transport::EndpointIndex endpoint) const {
        return choose_way(world_, framing_, endpoint);
    }
    bool cuts_packets(transport::EndpointIndex endpoint) const {
        return is_cut(way_to(endpoint).way);
    }

    void connect(Route& route, transport::EndpointIndex endpoint);
    void forget(wire::Qpn qpn);
    // Whether both ends of a connection send from addresses of one kind, and to the port that the
    // other one has: RoCE v1 and v2 do not understand each other, and a queue pair hears at its
    // port alone. A peer that has said nothing of it yet has nothing to disagree with.
    bool agrees(Route& route);
    // Shows peers what became of the queue pair.
    void note(const transport::QueuePair& qp);
    // A peer that has not read what we wrote is not silent: it had no time, or was stopped. Silence
    // counts from when it has.
    void excuse_slow_peers(base::Instant now);
    // Its peer is no more: it is as impatient as it was told to be.
    void on_left(uint32_t peer, base::Instant now);
    // The machine of this end point is one of ours: what is lost on the way to it, or from it, is
    // repeated selectively. Towards all others it is go-back-N, which everybody understands.
    void on_ours(uint32_t peer);
    // How long it shall wait for an answer.
    uint8_t ack_timeout_of(const Route& route) const;

private:
    World& world_;
    transport::Adapter& adapter_;
    const Framing framing_;
    std::vector<Route> routes_;  // by index of the queue pair
};

// A process that shares a CPU with others answers later than an adapter would.
uint8_t patient(uint8_t ack_timeout);

}  // namespace tulle::live
