#include "decode/endpoint.h"

#include <algorithm>

#include "wire/text.h"

namespace tulle::decode {
namespace {

template <size_t N>
PacketAddress endpoint_of(PacketAddress::Kind kind, const std::array<uint8_t, N>& bytes) {
    PacketAddress endpoint{kind, {}};
    std::copy(bytes.begin(), bytes.end(), endpoint.bytes.begin());
    return endpoint;
}

PacketAddress endpoint_of(wire::Lid lid) {
    return endpoint_of(PacketAddress::Kind::lid,
                       std::array<uint8_t, 2>{static_cast<uint8_t>(lid.value >> 8),
                                              static_cast<uint8_t>(lid.value)});
}

template <size_t N>
std::array<uint8_t, N> front(const PacketAddress& endpoint) {
    std::array<uint8_t, N> bytes;
    std::copy_n(endpoint.bytes.begin(), N, bytes.begin());
    return bytes;
}

}  // namespace

PacketAddress source_of(const wire::Frame& frame) {
    switch (frame.network) {
        case wire::NetworkHeader::ipv4:
            return endpoint_of(PacketAddress::Kind::ipv4, frame.ipv4.source.bytes);
        case wire::NetworkHeader::ipv6:
        case wire::NetworkHeader::grh:
            return endpoint_of(PacketAddress::Kind::gid, frame.grh.source.bytes);
        case wire::NetworkHeader::none: break;
    }
    if (!frame.has_link_header) return {};
    if (frame.link == wire::LinkLayer::infiniband) return endpoint_of(frame.lrh.source);
    return endpoint_of(PacketAddress::Kind::mac, frame.ethernet.source.bytes);
}

PacketAddress destination_of(const wire::Frame& frame) {
    switch (frame.network) {
        case wire::NetworkHeader::ipv4:
            return endpoint_of(PacketAddress::Kind::ipv4, frame.ipv4.destination.bytes);
        case wire::NetworkHeader::ipv6:
        case wire::NetworkHeader::grh:
            return endpoint_of(PacketAddress::Kind::gid, frame.grh.destination.bytes);
        case wire::NetworkHeader::none: break;
    }
    if (!frame.has_link_header) return {};
    if (frame.link == wire::LinkLayer::infiniband) return endpoint_of(frame.lrh.destination);
    return endpoint_of(PacketAddress::Kind::mac, frame.ethernet.destination.bytes);
}

std::string to_string(const PacketAddress& endpoint) {
    switch (endpoint.kind) {
        case PacketAddress::Kind::none: return "?";
        case PacketAddress::Kind::mac: return wire::to_string(wire::MacAddress{front<6>(endpoint)});
        case PacketAddress::Kind::lid:
            return "lid " + std::to_string(endpoint.bytes[0] << 8 | endpoint.bytes[1]);
        case PacketAddress::Kind::ipv4:
            return wire::to_string(wire::Ipv4Address{front<4>(endpoint)});
        case PacketAddress::Kind::gid: return wire::to_string(wire::Gid{endpoint.bytes});
    }
    return "?";
}

FlowKey flow_of(const wire::Frame& transport) {
    const wire::TransportHeaders& headers = transport.transport;
    const wire::Service service = wire::service_of(headers.opcode());
    const uint32_t qp =
        headers.has(wire::kRdeth) ? headers.rdeth.ee_context.value : headers.bth.dest_qp.value;
    return {source_of(transport), destination_of(transport), service, qp};
}

std::string_view service_name(wire::Service service) {
    switch (service) {
        case wire::Service::rc: return "RC";
        case wire::Service::uc: return "UC";
        case wire::Service::rd: return "RD";
        case wire::Service::ud: return "UD";
        case wire::Service::cnp: return "CNP";
        case wire::Service::xrc: return "XRC";
    }
    return "?";
}

}  // namespace tulle::decode
