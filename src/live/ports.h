// Ports of the connection manager, named by protocol and number, and who listens on them. Each
// host, device and port has at most one listener.
#pragma once

#include <map>

#include "live/world.h"

namespace tulle::live {

class Ports {
public:
    explicit Ports(World& world) : world_(world) {}

    bool take(uint8_t protocol, uint16_t port, Descriptor& held) const;
    bool show(uint8_t protocol, uint16_t port, const wire::Gid& address);
    void hide(uint8_t protocol, uint16_t port);
    // Shows that a queue pair of ours receives from a multicast group.
    void show_group();
    // The end point whose program listens there; kNowhere if there is none. find() meets processes
    // that are not known yet and waits for their answers; find_known() does not wait.
    transport::EndpointIndex find(uint8_t protocol, uint16_t port, const wire::Gid& address);
    transport::EndpointIndex find_known(uint8_t protocol, uint16_t port, const wire::Gid& address);
    // Whether the listener is on the other link layer, InfiniBand or Ethernet, which no switch
    // joins to ours.
    bool is_on_other_link(uint8_t protocol, uint16_t port, const wire::Gid& address);
    // In the child of a fork.
    void abandon() { waiting_.clear(); }

private:
    Descriptor waiting_name(uint32_t number) const;
    transport::EndpointIndex find_listener(uint32_t number, const wire::Gid& address);
    bool is_listener(const Peer& peer, uint32_t number) const;

    World& world_;
    std::map<uint32_t, Descriptor> waiting_;  // names, by port; 0 for multicast
};

}  // namespace tulle::live
