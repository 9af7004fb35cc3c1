// Addresses in their usual notation.
#pragma once

#include <string>

#include "wire/ids.h"

namespace tulle::wire {

std::string to_string(const MacAddress& address);   // 02:00:00:00:00:01
std::string to_string(const Ipv4Address& address);  // 10.0.0.1
std::string to_string(const Gid& gid);              // fe80::1; ::ffff:10.0.0.1 (RFC 5952)

}  // namespace tulle::wire
