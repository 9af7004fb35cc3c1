// Who sent a packet and to whom: the address that the outermost network header carries, and the
// flow, which is a sender and the queue pair it sends to.
#pragma once

#include <compare>
#include <string>

#include "wire/frame.h"

namespace tulle::decode {

// A GID or IPv6 address, an IPv4 address, a LID or a MAC address, whichever the packet is known by.
struct Endpoint {
    enum class Kind : uint8_t { none, mac, lid, ipv4, gid };
    Kind kind = Kind::none;
    std::array<uint8_t, 16> bytes{};  // as on the wire, from the front
    auto operator<=>(const Endpoint&) const = default;
};

Endpoint source_of(const wire::Frame& frame);
Endpoint destination_of(const wire::Frame& frame);

std::string to_string(const Endpoint& endpoint);  // 10.0.0.1, fd77::2, lid 5, 02:00:00:00:00:01

// Packets of one service from one sender to one queue pair. The sequence numbers of the reliable
// datagram service belong to an end-to-end context, which then stands in for the queue pair.
struct FlowKey {
    Endpoint source;
    Endpoint destination;
    wire::Service service = wire::Service::rc;
    uint32_t qp = 0;
    auto operator<=>(const FlowKey&) const = default;
};

FlowKey flow_of(const wire::Frame& transport);

std::string_view service_name(wire::Service service);  // RC, UC, RD, UD, CNP, XRC

}  // namespace tulle::decode
