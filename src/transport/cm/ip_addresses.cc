#include "transport/cm/ip_addresses.h"

#include <algorithm>

#include "wire/mad/mad.h"

namespace tulle::transport {
namespace {

constexpr wire::Gid kMapped = wire::gid_of(wire::Ipv4Address{});

// Converts ::ffff:a.b.c.d to ::a.b.c.d, the form in messages.
wire::Gid on_the_wire(wire::Gid gid) {
    if (wire::is_ipv4(gid)) std::fill_n(gid.bytes.begin(), wire::kIpv4Prefix, uint8_t{0});
    return gid;
}

wire::Gid mapped(wire::Gid address) {
    std::copy_n(kMapped.bytes.begin(), wire::kIpv4Prefix, address.bytes.begin());
    return address;
}

template <class Request>
std::optional<IpAddresses> addresses_of(const Request& request) {
    if (!wire::ip_cm_service(request.service_id)) return std::nullopt;
    return ip_addresses_in(wire::attribute_in<wire::IpCmHeader>(request.private_data));
}

}  // namespace

bool is_one_family(const IpAddresses& addresses) {
    return wire::is_ipv4(addresses.source) == wire::is_ipv4(addresses.destination);
}

wire::IpCmHeader ip_cm_header(const IpAddresses& addresses) {
    wire::IpCmHeader header;
    header.ip_version = wire::is_ipv4(addresses.source) ? 4 : 6;
    header.source_port = addresses.source_port;
    header.source = on_the_wire(addresses.source);
    header.destination = on_the_wire(addresses.destination);
    return header;
}

std::optional<IpAddresses> ip_addresses_in(const wire::IpCmHeader& header) {
    if (header.major_version != 0) return std::nullopt;
    if (header.ip_version == 6)
        return IpAddresses{header.source, header.destination, header.source_port};
    if (header.ip_version != 4) return std::nullopt;
    return IpAddresses{mapped(header.source), mapped(header.destination), header.source_port};
}

std::optional<IpAddresses> ip_addresses_of(const wire::CmReq& request) {
    return addresses_of(request);
}

std::optional<IpAddresses> ip_addresses_of(const wire::CmSidrReq& request) {
    return addresses_of(request);
}

}  // namespace tulle::transport
