// IP addressing of connection requests (IBTA vol 1, annex A11), what rdma_cm stands on: a request
// to a service ID of an IP port begins its private data with both addresses and the source port.
#pragma once

#include <optional>

#include "wire/ids.h"
#include "wire/mad/cm.h"
#include "wire/mad/ip_cm.h"

namespace tulle::transport {

// IPv4 addresses in the form of a GID table, ::ffff:a.b.c.d; the message has them otherwise.
struct IpAddresses {
    wire::Gid source;
    wire::Gid destination;
    uint16_t source_port = 0;
    bool operator==(const IpAddresses&) const = default;
};

// Both addresses must be of one family.
bool is_one_family(const IpAddresses& addresses);
wire::IpCmHeader ip_cm_header(const IpAddresses& addresses);

// Nothing if version or address family is none of the annex's.
std::optional<IpAddresses> ip_addresses_in(const wire::IpCmHeader& header);

// Nothing if the request is not for an IP port, or its addresses are no good.
std::optional<IpAddresses> ip_addresses_of(const wire::CmReq& request);
std::optional<IpAddresses> ip_addresses_of(const wire::CmSidrReq& request);

}  // namespace tulle::transport
