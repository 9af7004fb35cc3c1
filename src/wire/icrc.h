// The invariant CRC (IBTA vol 1, 7.8.1; annex A17.3.3 for RoCE v2) covers end to end what no switch
// or router may change. Fields that they may change count as ones:
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

constexpr bool is_infiniband(Encapsulation encapsulation) {
    return encapsulation == Encapsulation::infiniband_local ||
           encapsulation == Encapsulation::infiniband_global;
}

inline constexpr size_t kIcrcSize = 4;
inline constexpr size_t kVcrcSize = 2;

// Bytes from the first header that the ICRC covers (LRH, GRH or IP) up to the BTH, without it. IPv4
// without options.
size_t icrc_envelope_size(Encapsulation encapsulation);

// `covered` reaches from the first covered header to the last byte before the ICRC. The value is
// stored little endian on the wire. The packet must be long enough for the headers of the
// encapsulation: the caller has parsed them.
uint32_t icrc(Encapsulation encapsulation, Bytes covered);

// The same if the envelope, from the first covered header to UDP, is stored apart from the bytes
// from the BTH on, which are all that a socket delivers. It has two steps, because a connection has
// few envelopes: the state after an envelope, and the result with the rest.
uint32_t icrc_of_envelope(Encapsulation encapsulation, Bytes envelope);
uint32_t icrc_with(uint32_t state, Bytes transport);
// The state after an IPv4 envelope with this identification, from that of one with zero there.
uint32_t icrc_with_identification(uint32_t state, uint16_t identification);

// Finds the identification of the IPv4 header for the receiver of a datagram: the ICRC covers it,
// but a socket does not show it. `expected` was computed with zero in its place over `covered`
// bytes, as in icrc(). Nothing if no value gives the ICRC that was found: 16 of its 32 bits still
// protect.
std::optional<uint16_t> identification_for(uint32_t expected, uint32_t found, size_t covered);

// `covered` is the whole packet before the VCRC, or before the LPCRC of a flow-control packet; also
// little endian on the wire.
uint16_t vcrc(Bytes covered);

}  // namespace tulle::wire
