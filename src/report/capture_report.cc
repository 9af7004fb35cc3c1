#include "report/capture_report.h"

#include <algorithm>

#include "report/names.h"
#include "wire/capture.h"

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

bool is_infiniband(Encapsulation encapsulation) {
    return encapsulation == Encapsulation::infiniband_local ||
           encapsulation == Encapsulation::infiniband_global;
}

// Pause frames and credits go from one end of the cable to the other, packets from host to host.
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

// Each cable that is listened at is an interface, so that readers see a packet that passes two of
// them as one. Those that were asked for come first, heard or not.
std::vector<uint32_t> heard_cables(const sim::Setup& setup, const sim::Result& result) {
    std::vector<uint32_t> cables;
    const auto add = [&](uint32_t cable) {
        if (std::find(cables.begin(), cables.end(), cable) == cables.end()) cables.push_back(cable);
    };
    for (const sim::Tap& tap : setup.taps) add(tap.cable);
    for (const sim::CapturedPacket& captured : result.captured) add(captured.cable);
    return cables;
}

uint32_t place_of(uint32_t cable, const std::vector<uint32_t>& cables) {
    return static_cast<uint32_t>(std::find(cables.begin(), cables.end(), cable) - cables.begin());
}

}  // namespace

std::vector<std::byte> capture_report(const sim::Setup& setup, const sim::Result& result) {
    const std::vector<uint32_t> hosts = setup.graph.endpoints();
    const wire::LinkLayer link = is_infiniband(setup.fabric.framing.encapsulation)
                                     ? wire::LinkLayer::infiniband
                                     : wire::LinkLayer::ethernet;
    std::vector<const sim::CapturedPacket*> order;
    for (const sim::CapturedPacket& captured : result.captured) order.push_back(&captured);
    std::stable_sort(order.begin(), order.end(),
                     [](const auto* a, const auto* b) { return a->at < b->at; });
    const std::vector<uint32_t> cables = heard_cables(setup, result);
    const Names names(setup);
    std::vector<std::string> interfaces;
    for (const uint32_t cable : cables) interfaces.push_back(names.cable(cable));
    std::vector<std::byte> file;
    wire::begin_capture_of(link, interfaces, file);
    std::vector<std::byte> bytes(wire::kMaxEncodedSize);
    for (const sim::CapturedPacket* captured : order) {
        const wire::Path path = path_of(setup, hosts, *captured);
        wire::Packet packet = captured->packet;
        packet.payload = {};  // modelled: what it held is long gone, and shows as zeros
        const size_t size = wire::encode(packet, path, {}, bytes);
        const wire::Heard heard{place_of(captured->cable, cables), captured->from_a,
                                static_cast<uint64_t>(captured->at.ps) / 1000};
        wire::append_to_capture_of(link, heard, wire::Bytes(bytes).first(size), file);
    }
    return file;
}

}  // namespace tulle::report
