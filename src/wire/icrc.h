// The invariant CRC (IBTA vol 1, 7.8.1; annex A17.3.3 for RoCE v2): what no switch or router may
// change, summed end to end. Fields that they may change count as ones:
//
//   InfiniBand, local    LRH virtual lane
//   InfiniBand, global   the whole LRH; GRH traffic class, flow label, hop limit
//   RoCE v1              the same, with eight bytes of ones for the LRH that it lacks
//   RoCE v2, IPv4        those eight bytes; type of service, time to live, both checksums
//   RoCE v2, IPv6        those eight bytes; traffic class, flow label, hop limit, UDP checksum
//   all of them          BTH byte 4 (FECN, BECN and the reserved bits beside them)
//
// VCRC and LPCRC cover every byte of the packet before them and need no such table.
#pragma once

#include <optional>

#include "wire/layout.h"

namespace tulle::wire {

enum class Encapsulation : uint8_t {
    infiniband_local,
    infiniband_global,
    roce_v1,
    roce_v2_ipv4,
    roce_v2_ipv6,
};

inline constexpr size_t kIcrcSize = 4;
inline constexpr size_t kVcrcSize = 2;

// Bytes from the first header that the ICRC covers (LRH, GRH or IP) to the BTH, the latter
// excluded. IPv4 without options.
size_t icrc_envelope_size(Encapsulation encapsulation);

// `covered` reaches from the first covered header to the last byte before the ICRC. Read as a
// little endian number the ICRC on the wire is this value. Nothing is known of packets that are too
// short to hold the headers of the encapsulation: the caller has parsed them.
uint32_t icrc(Encapsulation encapsulation, Bytes covered);

// The same where the envelope, from the first covered header to UDP, lies elsewhere than what
// stands from the BTH on: a socket shows the latter alone. In two steps, for the envelopes of a
// connection's packets are few: the state behind an envelope, and what comes of it with the rest.
uint32_t icrc_of_envelope(Encapsulation encapsulation, Bytes envelope);
uint32_t icrc_with(uint32_t state, Bytes transport);
// The state behind an IPv4 envelope with this identification, from that of one with zero there.
uint32_t icrc_with_identification(uint32_t state, uint16_t identification);

// Which identification the IPv4 header had, for the receiver of a datagram: a socket does not show
// it, and the ICRC covers it. `expected` was computed with zero in its place, `covered` bytes are
// summed as in icrc(). Nothing if no value gives what was found: 16 of the 32 bits still protect.
std::optional<uint16_t> identification_for(uint32_t expected, uint32_t found, size_t covered);

// `covered` is the whole packet before the VCRC, or before the LPCRC of a flow-control packet; also
// little endian on the wire.
uint16_t vcrc(Bytes covered);

}  // namespace tulle::wire
