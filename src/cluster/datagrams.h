// What a host needs for reliable datagrams (transport/rd.h): a context for each of its peers, which
// all its queue pairs share, and the destination of each queue pair.
#pragma once

#include <map>
#include <optional>

#include "transport/adapter.h"

namespace tulle::cluster {

class Datagrams {
public:
    // All packets of a context have these in common.
    struct Peer {
        uint32_t endpoint = 0;
        uint8_t service_level = 0;
        uint8_t traffic_class = 0;
        auto operator<=>(const Peer&) const = default;
    };
    struct Route {
        Peer peer;
        transport::Qpn qpn{};  // at the peer
    };

    explicit Datagrams(transport::Adapter& adapter) : adapter_(adapter) {}

    // The domain of the queue pairs and contexts; created on first use.
    transport::RdDomainId domain();
    // The context for this peer; the caller connects a new one.
    wire::EeContext open(const Peer& peer);
    std::optional<wire::EeContext> find(const Peer& peer) const;

    void set_route(transport::Qpn qpn, const Route& route);
    const Route& route(transport::Qpn qpn) const { return routes_.at(qpn.value); }
    // The queue pair is gone. A context is removed with the last queue pair that used it, the
    // domain with the last context.
    void forget(transport::Qpn qpn);
    // Fills in the destination of a request of this queue pair.
    void address(transport::Qpn qpn, transport::SendRequest& request) const;

private:
    struct Context {
        wire::EeContext ee{};
        uint32_t users = 0;
    };

    transport::Adapter& adapter_;
    std::optional<transport::RdDomainId> domain_;
    std::map<Peer, Context> contexts_;
    std::map<uint32_t, Route> routes_;  // by queue pair
};

}  // namespace tulle::cluster
