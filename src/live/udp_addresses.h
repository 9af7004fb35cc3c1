// The addresses of this machine that other machines may reach, as `tulle run --listen` names them.
#pragma once

#include <bit>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/ids.h"

namespace tulle::live {

struct UdpAddress {
    wire::Gid gid;  // IPv4 as ::ffff:a.b.c.d
    std::string interface;
    uint32_t interface_number = 0;
    uint32_t mtu = 0;  // of the interface
    wire::MacAddress mac;
    bool operator==(const UdpAddress&) const = default;
};

// Parses addresses and interfaces, separated by commas. An interface stands for all its addresses
// except link-local ones of IPv6, which have to be named: fe80::1%eth0.
base::Result<std::vector<UdpAddress>> udp_addresses(std::string_view list);

// The address that the kernel would send from; nothing if it has no route.
std::optional<wire::Gid> source_of_route(const wire::Gid& peer);

// Whether an address of IPv6 is valid on one link alone.
bool is_of_link(const wire::Gid& address);

// Equality, inline because it is computed for each packet.
inline bool is_same(const wire::Gid& one, const wire::Gid& other) {
    using Words = std::array<uint64_t, 2>;
    const auto a = std::bit_cast<Words>(one.bytes);
    const auto b = std::bit_cast<Words>(other.bytes);
    return ((a[0] ^ b[0]) | (a[1] ^ b[1])) == 0;
}

// Whether an address is a multicast group's: of IPv6, or of IPv4 in the form of RoCE v2,
// ::ffff:239.1.2.3.
bool is_multicast(const wire::Gid& address);

// Text such as 10.0.0.1 or fd00::1.
std::string text_of(const wire::Gid& address);

}  // namespace tulle::live
