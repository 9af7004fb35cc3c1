// What can be told from one frame alone: sizes, checksums, congestion marks.
#pragma once

#include <optional>

#include "wire/frame.h"

namespace tulle::decode {

// The payload of a transport packet on the wire. It exceeds the captured bytes if the packet is
// truncated.
uint32_t payload_bytes(const wire::Frame& frame);

// Which checksums are right; nothing if there is none or the packet is truncated.
struct Checksums {
    std::optional<bool> icrc;
    std::optional<bool> vcrc;
    std::optional<bool> lpcrc;  // of an InfiniBand flow-control packet
};
Checksums check(const wire::Frame& frame, wire::Bytes bytes);

// Congestion experienced: ECN field 3 of IPv4, IPv6 or the GRH.
bool is_congestion_experienced(const wire::Frame& frame);

// A management datagram: queue pair 0 or 1 of the datagram service.
bool is_mad(const wire::Frame& frame);

}  // namespace tulle::decode
