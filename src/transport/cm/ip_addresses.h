// IP addressing of connection requests (IBTA vol 1, annex A11), the basis of rdma_cm: the private
// data of a request to a service ID of an IP port begins with both addresses and the source port.
#pragma once

#include <optional>

#include "wire/ids.h"
#include "wire/mad/cm.h"
#include "wire/mad/ip_cm.h"

namespace tulle::transport {

// IPv4 addresses are in GID form, ::ffff:a.b.c.d; the message has another form.
struct IpAddresses {
    wire::Gid source;
    wire::Gid destination;
    uint16_t source_port = 0;
    bool operator==(const IpAddresses&) const = default;
};

// Both addresses must be of one family.
bool is_one_family(const IpAddresses& addresses);
wire::IpCmHeader ip_cm_header(const IpAddresses& addresses);

// Nothing if the annex does not define the version or address family.
std::optional<IpAddresses> ip_addresses_in(const wire::IpCmHeader& header);

// Nothing if the request is not for an IP port, or its addresses are invalid.
std::optional<IpAddresses> ip_addresses_of(const wire::CmReq& request);
std::optional<IpAddresses> ip_addresses_of(const wire::CmSidrReq& request);

}  // namespace tulle::transport
