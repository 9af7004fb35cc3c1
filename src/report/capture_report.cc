#include "report/capture_report.h"

#include <algorithm>

#include "report/names.h"
#include "wire/uet/uet.h"

namespace tulle::report {
namespace {

using wire::Encapsulation;

constexpr uint32_t kUnicastLids = 0xbfff;  // 1 to 0xbfff (IBTA vol 1, 4.1.3)

template <size_t kSize>
void put_at_end(uint32_t number, size_t bytes, std::array<uint8_t, kSize>& address) {
    for (size_t i = 0; i < bytes; ++i)
        address[kSize - 1 - i] = static_cast<uint8_t>(number >> (8 * i));
}

wire::MacAddress mac_of(uint32_t node) {
    wire::MacAddress mac{{0x02}};  // administered locally
    put_at_end(node, 4, mac.bytes);
    return mac;
}

wire::Endpoint endpoint_of(uint32_t host, uint32_t node, Encapsulation encapsulation) {
    wire::Endpoint endpoint;
    endpoint.mac = mac_of(node);
    endpoint.lid = {static_cast<uint16_t>(1 + host % kUnicastLids)};
    if (encapsulation == Encapsulation::roce_v2_ipv4) {
        wire::Ipv4Address address{{10}};
        put_at_end(host + 1, 3, address.bytes);
        endpoint.gid = wire::gid_of(address);
    } else {
        endpoint.gid.bytes[0] = 0xfe;
        endpoint.gid.bytes[1] = 0x80;
        put_at_end(node + 1, 4, endpoint.gid.bytes);
    }
    return endpoint;
}

// Pause frames and credits travel between the ends of a cable, packets from host to host.
wire::Path path_of(const sim::Setup& setup, const std::vector<uint32_t>& hosts,
                   const sim::CapturedPacket& captured) {
    wire::Path path;
    path.encapsulation = setup.fabric.framing.encapsulation;
    if (captured.packet.kind != wire::PacketKind::transport) {
        const topology::Cable& cable = setup.graph.cables[captured.cable];
        path.source.mac = mac_of((captured.from_a ? cable.a : cable.b).node);
        return path;
    }
    const uint32_t source = captured.packet.source;
    const uint32_t destination = captured.packet.destination;
    path.source = endpoint_of(source, hosts[source], path.encapsulation);
    path.destination = endpoint_of(destination, hosts[destination], path.encapsulation);
    return path;
}

uint32_t place_of(uint32_t cable, const std::vector<uint32_t>& cables) {
    return static_cast<uint32_t>(std::find(cables.begin(), cables.end(), cable) - cables.begin());
}

}  // namespace

CaptureWriter::CaptureWriter(const sim::Setup& setup, std::vector<uint32_t> cables,
                             std::vector<std::byte>& file)
    : setup_(setup),
      cables_(std::move(cables)),
      hosts_(setup.graph.endpoints()),
      link_(is_infiniband(setup.fabric.framing.encapsulation) ? wire::LinkLayer::infiniband
                                                              : wire::LinkLayer::ethernet),
      bytes_(wire::kMaxEncodedSize) {
    const Names names(setup);
    std::vector<std::string> interfaces;
    for (const uint32_t cable : cables_) interfaces.push_back(names.cable(cable));
    wire::begin_capture_of(link_, interfaces, file);
}

void CaptureWriter::add(std::span<const sim::CapturedPacket> packets,
                        std::vector<std::byte>& file) {
    for (const sim::CapturedPacket& captured : packets) {
        const wire::Path path = path_of(setup_, hosts_, captured);
        wire::Packet packet = captured.packet;
        packet.payload = {};  // modelled: the content is not kept, and is written as zeros
        const size_t size = encode(packet, path);
        const wire::Heard heard{place_of(captured.cable, cables_), captured.from_a,
                                static_cast<uint64_t>(captured.at.ps) / 1000};
        wire::append_to_capture_of(link_, heard, wire::Bytes(bytes_).first(size), file);
    }
}

// Pauses are the link's, whatever the transport.
size_t CaptureWriter::encode(const wire::Packet& packet, const wire::Path& path) {
    const bool is_uet =
        setup_.fabric.framing.is_captured_as_uet && packet.kind == wire::PacketKind::transport &&
        link_ == wire::LinkLayer::ethernet && path.encapsulation != Encapsulation::roce_v1;
    if (!is_uet) return wire::encode(packet, path, {}, bytes_);
    const bool is_ordered = setup_.host.delivery == transport::Delivery::ordered;
    return wire::encode_uet(packet, path, is_ordered ? wire::UetMode::rod : wire::UetMode::rud,
                            bytes_);
}

std::vector<uint32_t> tapped_cables(const sim::Setup& setup) {
    std::vector<uint32_t> cables;
    for (const sim::Tap& tap : setup.taps)
        if (std::find(cables.begin(), cables.end(), tap.cable) == cables.end())
            cables.push_back(tap.cable);
    return cables;
}

// Requested cables come first, even without packets.
std::vector<std::byte> capture_report(const sim::Setup& setup, const sim::Result& result) {
    std::vector<uint32_t> cables = tapped_cables(setup);
    std::vector<sim::CapturedPacket> packets = result.captured;
    std::stable_sort(packets.begin(), packets.end(),
                     [](const auto& a, const auto& b) { return a.at < b.at; });
    for (const sim::CapturedPacket& captured : packets)
        if (std::find(cables.begin(), cables.end(), captured.cable) == cables.end())
            cables.push_back(captured.cable);
    std::vector<std::byte> file;
    CaptureWriter(setup, std::move(cables), file).add(packets, file);
    return file;
}

}  // namespace tulle::report
