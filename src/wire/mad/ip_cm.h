// IP addressing over the communication manager (IBTA vol 1, annex A11), as librdmacm and every
// RoCE stack speak it: the service ID holds the protocol and the destination port, and a REQ's or
// SIDR_REQ's private data begins with the source port and both addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "wire/ids.h"
#include "wire/layout.h"

namespace tulle::wire {

// The protocol byte is an IP protocol number, also for services that are none of TCP's or UDP's.
enum IpCmProtocol : uint8_t { kIpCmTcp = 6, kIpCmUdp = 17 };

struct IpCmService {
    uint8_t protocol = 0;
    uint16_t port = 0;
    bool operator==(const IpCmService&) const = default;
};

inline constexpr uint64_t kIpCmServicePrefix = 0x01;  // in the five high bytes

constexpr Key64 service_id_of(IpCmService service) {
    return Key64{kIpCmServicePrefix << 24 | uint64_t{service.protocol} << 16 | service.port};
}

// Nothing if the service ID is not one of the annex's.
constexpr std::optional<IpCmService> ip_cm_service(Key64 service_id) {
    if (service_id.value >> 24 != kIpCmServicePrefix) return std::nullopt;
    return IpCmService{static_cast<uint8_t>(service_id.value >> 16),
                       static_cast<uint16_t>(service_id.value)};
}

// An address of 16 bytes: IPv6, or IPv4 in the last four and zero before (not the mapped form of a
// GID table).
struct IpCmHeader {
    static constexpr size_t kSize = 36;
    uint8_t major_version = 0;
    uint8_t minor_version = 0;
    uint8_t ip_version = 0;  // 4 or 6
    Bits8 reserved;
    uint16_t source_port = 0;
    Gid source;
    Gid destination;
    static constexpr auto kFields = fields(field<&IpCmHeader::major_version, 4>("major_version"),
                                           field<&IpCmHeader::minor_version, 4>("minor_version"),
                                           field<&IpCmHeader::ip_version, 4>("ip_version"),
                                           field<&IpCmHeader::reserved, 4>("reserved"),
                                           field<&IpCmHeader::source_port, 16>("source_port"),
                                           field<&IpCmHeader::source, 128>("source"),
                                           field<&IpCmHeader::destination, 128>("destination"));
};

}  // namespace tulle::wire
