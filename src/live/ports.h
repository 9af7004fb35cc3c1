// Ports of the connection manager, named by protocol and number: who listens where. One listener a
// host, device and port.
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
    // A queue pair waits for what is sent to a multicast group.
    void show_group();
    // The end point whose program listens there; kNowhere if none does.
    transport::EndpointIndex find(uint8_t protocol, uint16_t port, const wire::Gid& address);
    // Whether somebody does whom no switch joins to us: on InfiniBand, or on Ethernet.
    bool is_on_other_link(uint8_t protocol, uint16_t port, const wire::Gid& address);
    // In the child of a fork.
    void abandon() { waiting_.clear(); }

private:
    Descriptor waiting_name(uint32_t number) const;
    transport::EndpointIndex find_listener(uint32_t number, const wire::Gid& address);

    World& world_;
    std::map<uint32_t, Descriptor> waiting_;  // names, by port; 0 for multicast
};

}  // namespace tulle::live
