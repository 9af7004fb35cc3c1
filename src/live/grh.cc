#include "live/grh.h"

#include <algorithm>
#include <span>

#include "wire/frame.h"
#include "wire/ip.h"

namespace tulle::live {

using wire::Packet;

bool is_datagram(const Packet& packet) {
    return wire::service_of(static_cast<uint8_t>(packet.opcode)) == wire::Service::ud;
}

std::array<std::byte, kGrhBytes> grh_of(const Packet& packet, const wire::Gid& from,
                                        const wire::Gid& to) {
    std::array<std::byte, kGrhBytes> bytes{};
    if (wire::is_ipv4(from) && wire::is_ipv4(to)) {
        // RoCE v2: the IPv4 header in the last twenty bytes (annex A17.4.5.1).
        wire::Ipv4 ip;
        ip.dscp = static_cast<uint8_t>(packet.traffic_class >> 2);
        ip.total_length = static_cast<uint16_t>(wire::Ipv4::kSize + 8 + 24 + packet.payload_length);
        ip.dont_fragment = true;
        ip.time_to_live = static_cast<uint8_t>(packet.hop_limit);
        ip.protocol = wire::kProtocolUdp;
        std::copy_n(from.bytes.begin() + 12, 4, ip.source.bytes.begin());
        std::copy_n(to.bytes.begin() + 12, 4, ip.destination.bytes.begin());
        const auto header = std::span(bytes).subspan(kGrhBytes - wire::Ipv4::kSize);
        wire::write(ip, header);
        // Programs tell the two kinds apart by whether this checksum is right.
        ip.checksum = wire::Bits16{wire::ipv4_checksum(header)};
        wire::write(ip, header);
        return bytes;
    }
    wire::Grh grh;
    grh.traffic_class = static_cast<uint8_t>(packet.traffic_class);
    grh.payload_length = static_cast<uint16_t>(24 + packet.payload_length);
    grh.next_header = wire::kProtocolIba;
    grh.hop_limit = static_cast<uint8_t>(packet.hop_limit);
    grh.source = from;
    grh.destination = to;
    wire::write(grh, std::span(bytes));
    return bytes;
}

}  // namespace tulle::live
