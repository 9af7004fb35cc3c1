// The sender and receiver of a packet: the address in the outermost network header, and the flow,
// which is a sender and the queue pair it sends to.
#pragma once

#include <compare>
#include <string>

#include "wire/frame.h"

namespace tulle::decode {

// A GID or IPv6 address, an IPv4 address, a LID or a MAC address, depending on the packet.
struct PacketAddress {
    enum class Kind : uint8_t { none, mac, lid, ipv4, gid };
    Kind kind = Kind::none;
    std::array<uint8_t, 16> bytes{};  // as on the wire, first byte first
    auto operator<=>(const PacketAddress&) const = default;
};

PacketAddress source_of(const wire::Frame& frame);
PacketAddress destination_of(const wire::Frame& frame);

std::string to_string(
    const PacketAddress& endpoint);  // 10.0.0.1, fd77::2, lid 5, 02:00:00:00:00:01

// Packets of one service from one sender to one queue pair. In the reliable datagram service
// sequence numbers belong to an end-to-end context, which replaces the queue pair.
struct FlowKey {
    PacketAddress source;
    PacketAddress destination;
    wire::Service service = wire::Service::rc;
    uint32_t qp = 0;
    auto operator<=>(const FlowKey&) const = default;
};

FlowKey flow_of(const wire::Frame& transport);

std::string_view service_name(wire::Service service);  // RC, UC, RD, UD, CNP, XRC

}  // namespace tulle::decode
