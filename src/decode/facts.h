// What a frame says without any memory of others: sizes, checksums, congestion marks.
#pragma once

#include <optional>

#include "wire/frame.h"

namespace tulle::decode {

// The payload of a transport packet on the wire, larger than what was captured of one that is cut.
uint32_t payload_bytes(const wire::Frame& frame);

// Which checksums hold; nothing where there is none or the packet is cut.
struct Checksums {
    std::optional<bool> icrc;
    std::optional<bool> vcrc;
    std::optional<bool> lpcrc;  // of an InfiniBand flow-control packet
};
Checksums check(const wire::Frame& frame, wire::Bytes bytes);

// The network met congestion: ECN field 3 of IPv4, IPv6 or the GRH.
bool is_congestion_experienced(const wire::Frame& frame);

// A management datagram: queue pair 0 or 1 of the datagram service.
bool is_mad(const wire::Frame& frame);

}  // namespace tulle::decode
