#include "live/udp_path.h"

#include <algorithm>
#include <cstring>

#include "base/guarded_copy.h"
#include "wire/crc.h"

namespace tulle::live {
namespace {

using wire::Encapsulation;

constexpr size_t kEthernetBytes = 14;

struct Envelope {
    Encapsulation encapsulation = Encapsulation::roce_v2_ipv4;
    std::array<std::byte, wire::Grh::kSize + wire::Udp::kSize> room{};
    size_t size = 0;

    wire::Bytes bytes() const { return {room.data(), size}; }
};

// `length`: from the BTH to the ICRC. Fields that routers may change stay zero, since the ICRC does
// not cover them.
Envelope envelope_of(const DatagramEnds& ends, size_t length) {
    Envelope made;
    wire::Udp udp;
    udp.source_port = ends.source_port;
    udp.length = static_cast<uint16_t>(wire::Udp::kSize + length);
    if (wire::is_ipv4(ends.to)) {
        wire::Ipv4 ip;
        ip.total_length = static_cast<uint16_t>(wire::Ipv4::kSize + udp.length);
        ip.identification = wire::Bits16{ends.identification};
        ip.dont_fragment = true;
        ip.protocol = wire::kProtocolUdp;
        std::copy_n(ends.from.bytes.begin() + wire::kIpv4Prefix, 4, ip.source.bytes.begin());
        std::copy_n(ends.to.bytes.begin() + wire::kIpv4Prefix, 4, ip.destination.bytes.begin());
        wire::write(ip, std::span(made.room));
        made.size = wire::Ipv4::kSize;
    } else {
        made.encapsulation = Encapsulation::roce_v2_ipv6;
        wire::Grh ip;
        ip.payload_length = udp.length;
        ip.next_header = wire::kProtocolUdp;
        ip.source = ends.from;
        ip.destination = ends.to;
        wire::write(ip, std::span(made.room));
        made.size = wire::Grh::kSize;
    }
    wire::write(udp, std::span(made.room).subspan(made.size));
    made.size += wire::Udp::kSize;
    return made;
}

void put_icrc(uint32_t icrc, std::span<std::byte> place) {
    for (std::byte& byte : place) {
        byte = static_cast<std::byte>(icrc);
        icrc >>= 8;
    }
}

// The traffic class in an IP header, with ECN marks.
uint8_t class_in(std::span<const std::byte> ip, bool is_four) {
    const auto first = std::to_integer<unsigned>(ip[0]);
    const auto second = std::to_integer<unsigned>(ip[1]);
    return static_cast<uint8_t>(is_four ? second : first << 4 | second >> 4);
}

}  // namespace

uint32_t UdpPath::icrc_of(const DatagramEnds& ends, wire::Bytes transport) {
    const size_t place = ends.from.bytes.back() + transport.size() / 4 + 5u * ends.source_port;
    KnownEnvelope& known = known_[place % known_.size()];
    if (known.length != transport.size() || known.ends.source_port != ends.source_port ||
        !is_same(known.ends.from, ends.from) || !is_same(known.ends.to, ends.to)) [[unlikely]] {
        const DatagramEnds first{ends.from, ends.to, ends.source_port, 0};
        const Envelope envelope = envelope_of(first, transport.size() + wire::kIcrcSize);
        known = {first, transport.size(),
                 wire::icrc_of_envelope(envelope.encapsulation, envelope.bytes())};
    }
    const bool has_identification = wire::is_ipv4(ends.to) && ends.identification != 0;
    return wire::icrc_with(has_identification
                               ? wire::icrc_with_identification(known.state, ends.identification)
                               : known.state,
                           transport);
}

// The ICRC, in the last four bytes of a datagram.
void UdpPath::seal(const DatagramEnds& ends, std::span<std::byte> bytes) {
    const size_t size = bytes.size() - wire::kIcrcSize;
    put_icrc(icrc_of(ends, bytes.first(size)), bytes.subspan(size));
}

// Corrects the ICRC of a datagram over IPv4 that was computed as the first of a call. A CRC is
// linear: the change depends only on the difference, not on the contents of the packet.
void UdpPath::seal_as_second(std::span<std::byte> bytes) {
    const size_t size = bytes.size() - wire::kIcrcSize;
    if (as_second_.length != size) {
        const std::vector<std::byte> zeros(size);
        as_second_ = {size, wire::crc32_update(wire::icrc_with_identification(0, 1), zeros)};
    }
    uint32_t icrc = 0;
    std::memcpy(&icrc, bytes.data() + size, sizeof icrc);
    icrc ^= as_second_.bits;
    std::memcpy(bytes.data() + size, &icrc, sizeof icrc);
}

base::Result<std::unique_ptr<UdpPath>> UdpPath::open(const std::vector<UdpAddress>& addresses) {
    auto sockets = UdpSockets::open(addresses);
    if (!sockets) return sockets.error();
    auto made = std::make_unique<UdpPath>();
    made->sockets_ = std::move(*sockets);
    return made;
}

void UdpPath::send(const wire::Gid& from, const wire::Gid& to, const wire::Packet& packet) {
    if (packet.payload_length > wire::kMaxPayload) return;
    const bool has_bytes = packet.payload_length != 0 && !packet.payload.is_modelled();
    wire::Bytes payload =
        has_bytes ? wire::Bytes{packet.payload.address(), packet.payload_length} : wire::Bytes{};
    std::array<std::byte, wire::SelectiveAck::kBytes> selective;
    if (packet.has_selective_ack()) [[unlikely]] {
        selective = wire::bytes_of(packet.extended.ack.selective);
        payload = selective;
    }
    wire::Frame frame = wire::frame_of(packet, {}, payload);
    const size_t pad = frame.pad.size();
    const size_t size = frame.transport.size() + payload.size() + pad;
    const UdpDeparture departure{
        from,
        to,
        packet.entropy,
        static_cast<uint8_t>(packet.traffic_class),
        size + wire::kIcrcSize,
        packet.dest_qp().value,
        wire::operation_of(static_cast<uint8_t>(packet.opcode)) == wire::Operation::acknowledge};
    const UdpSockets::Place place = sockets_->reserve(departure);
    if (place.bytes.empty()) return;
    // The program may have unmapped the payload meanwhile: the packet is lost, and its
    // retransmission is checked first.
    frame.payload = frame.pad = {};
    std::byte* const data = place.bytes.data() + wire::write_datagram(frame, place.bytes);
    if (!payload.empty() && !base::guarded_copy(data, payload.data(), payload.size())) [[unlikely]]
        return sockets_->withdraw();
    std::memset(data + payload.size(), 0, pad);
    seal({from, to, place.source_port, place.number}, place.bytes);
    if (!place.moved.empty() && wire::is_ipv4(to)) seal_as_second(place.moved);
}

void UdpPath::send_frame(const wire::Gid& from, const wire::Gid& to,
                         std::span<const std::byte> bytes) {
    const bool is_four = wire::is_ipv4(to);
    const size_t envelope = (is_four ? wire::Ipv4::kSize : wire::Grh::kSize) + wire::Udp::kSize;
    if (bytes.size() < kEthernetBytes + envelope + wire::Bth::kSize + wire::kIcrcSize) return;
    const auto covered =
        bytes.subspan(kEthernetBytes, bytes.size() - kEthernetBytes - wire::kIcrcSize);
    const auto transport = covered.subspan(envelope);
    uint32_t found = 0;
    std::memcpy(&found, bytes.data() + bytes.size() - wire::kIcrcSize, sizeof found);
    const uint32_t expected =
        wire::icrc(is_four ? Encapsulation::roce_v2_ipv4 : Encapsulation::roce_v2_ipv6, covered);
    // The headers before the BTH are made anew, so damage to them must show in the ICRC.
    const UdpDeparture departure{from, to, 0, class_in(covered, is_four),
                                 transport.size() + wire::kIcrcSize};
    const UdpSockets::Place place = sockets_->reserve(departure);
    if (place.bytes.empty()) return;
    std::copy(transport.begin(), transport.end(), place.bytes.begin());
    const uint32_t icrc = icrc_of({from, to, place.source_port, place.number}, transport);
    put_icrc(icrc ^ expected ^ found, place.bytes.subspan(transport.size()));
}

std::optional<wire::Packet> UdpPath::read(const UdpArrival& arrival) {
    const bool is_four = wire::is_ipv4(arrival.source);
    const wire::Frame frame = wire::parse_datagram(
        is_four ? Encapsulation::roce_v2_ipv4 : Encapsulation::roce_v2_ipv6, arrival.body);
    if (frame.kind != wire::FrameKind::transport) {
        ++counts_.malformed;
        return std::nullopt;
    }
    const auto transport = arrival.body.first(arrival.body.size() - wire::kIcrcSize);
    DatagramEnds ends{arrival.source, arrival.destination, arrival.source_port, arrival.place};
    if (icrc_of(ends, transport) != frame.icrc.value) {
        ends.identification = 0;
        const size_t covered = wire::Ipv4::kSize + wire::Udp::kSize + transport.size();
        if (!is_four ||
            !wire::identification_for(icrc_of(ends, transport), frame.icrc.value, covered)) {
            ++counts_.damaged;
            return std::nullopt;
        }
        ++counts_.solved;
    }
    wire::Packet packet = wire::packet_of(frame);
    packet.traffic_class = arrival.traffic_class;
    packet.entropy = arrival.source_port;
    return packet;
}

}  // namespace tulle::live
