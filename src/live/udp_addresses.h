// The addresses of this machine that programs of others may reach: what `tulle run --listen` names.
#pragma once

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

// Addresses and interfaces, with commas between. An interface stands for all addresses that it has
// but those of IPv6 that are of the link alone.
base::Result<std::vector<UdpAddress>> udp_addresses(std::string_view list);

// A group's: of IPv6, or of IPv4 as RoCE v2 has it, ::ffff:239.1.2.3.
bool is_multicast(const wire::Gid& address);

// 10.0.0.1 or fd00::1.
std::string text_of(const wire::Gid& address);

}  // namespace tulle::live
