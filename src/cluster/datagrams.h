// What a host needs for reliable datagrams (transport/rd.h): a context for each peer that it talks
// to, which all its queue pairs share, and where each of these sends.
#pragma once

#include <map>
#include <optional>

#include "transport/adapter.h"

namespace tulle::cluster {

class Datagrams {
public:
    // Packets of one context are alike in this.
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

    // Of the queue pairs and contexts; made with the first of them.
    transport::RdDomainId domain();
    // The context for this peer; its owner connects one that is new.
    wire::EeContext open(const Peer& peer);
    std::optional<wire::EeContext> find(const Peer& peer) const;

    void set_route(transport::Qpn qpn, const Route& route);
    const Route& route(transport::Qpn qpn) const { return routes_.at(qpn.value); }
    // A queue pair that is no more. A context goes with the last that used it, the domain with the
    // last context.
    void forget(transport::Qpn qpn);
    // Says where a request of this queue pair goes.
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
