#include "network.h"

#include <algorithm>

namespace tulle::swarm {
namespace {

wire::Endpoint address_of_group(uint32_t group, wire::Encapsulation encapsulation) {
    const auto number = static_cast<uint8_t>(group - kFirstGroup);
    const auto lid = static_cast<uint16_t>(0xc000 + number);
    wire::Endpoint address{{{0x33, 0x33, 0, 0, 0, number}}, {}, wire::Lid{lid}};
    address.gid = encapsulation == wire::Encapsulation::roce_v2_ipv4
                      ? wire::gid_of(wire::Ipv4Address{{239, 0, 2, number}})
                      : wire::Gid{{0xff, 0x12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, number}};
    return address;
}

wire::Endpoint address_of(uint32_t endpoint, wire::Encapsulation encapsulation) {
    if (endpoint >= kFirstGroup) return address_of_group(endpoint, encapsulation);
    const auto number = static_cast<uint8_t>(endpoint);
    wire::Endpoint address{{{2, 0, 0, 0, 0, number}}, {}, wire::Lid{number}};
    address.gid = encapsulation == wire::Encapsulation::roce_v2_ipv4
                      ? wire::gid_of(wire::Ipv4Address{{192, 0, 2, number}})
                      : wire::Gid{{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, number}};
    return address;
}

}  // namespace

Network::Network(World& world, Tally& tally) : world_(world), tally_(tally) {
    const size_t count = world.stations.size();
    for (size_t i = 0; i < count * count; ++i)
        links_.push_back({Draw(world.seed, Drawer::link, i), Draw(world.seed, Drawer::marks, i)});
}

base::Instant Network::arrival_of(Link& link, base::Instant now, bool& disturbed) {
    const Faults& faults = world_.faults;
    base::Instant at = now + base::Duration{int64_t{world_.link_ns} * 1000};
    // Delay holds up what follows too; what is reordered lets others pass.
    const bool delayed = link.draw.per_million(faults.delay);
    const bool reordered = link.draw.per_million(faults.reordering);
    disturbed = disturbed || delayed || reordered;
    if (delayed) at += base::Duration{int64_t{link.draw.between(1, faults.delay_ns)} * 1000};
    at = std::max(at, link.last_arrival);
    if (reordered)
        return at + base::Duration{int64_t{link.draw.between(1, faults.reorder_ns)} * 1000};
    link.last_arrival = at;
    return at;
}

uint32_t Network::station_at(uint32_t endpoint) const {
    const uint32_t first = endpoint > kOtherPort ? endpoint - kOtherPort : endpoint;
    require(first != 0 && first <= world_.stations.size(), "a packet was sent to nobody");
    return first - 1;
}

bool Network::has_members(uint32_t group, uint32_t station) const {
    require(group - kFirstGroup < world_.groups.size(), "a packet was sent to no group");
    const auto& members = world_.groups[group - kFirstGroup].members;
    return std::any_of(members.begin(), members.end(),
                       [&](uint32_t side) { return world_.sides[side].adapter == station; });
}

// Only the way to the first port of a peer is ever cut.
bool Network::is_cut(const wire::Packet& packet, uint32_t to) const {
    if (packet.destination > kOtherPort) return false;
    const wire::Service service = wire::service_of(static_cast<uint8_t>(packet.opcode));
    if (service != wire::Service::rc && service != wire::Service::xrc) return false;
    const uint32_t peer = world_.find_side(to, packet.dest_qp());
    return peer != kNone && world_.sides[world_.sides[peer].peer].is_cut;
}

void Network::note_trouble(const wire::Packet& packet, uint32_t to) {
    if (wire::service_of(static_cast<uint8_t>(packet.opcode)) == wire::Service::rd) {
        const uint32_t end = world_.find_ee(to, packet.srq_or_ee);
        if (end != kNone) ++world_.ee_troubles(end);
        return;
    }
    const uint32_t side = world_.find_side(to, packet.dest_qp());
    if (side != kNone) ++world_.troubles(side);
}

wire::Path Network::path_of(const wire::Packet& packet) const {
    wire::Path path;
    path.encapsulation = world_.encapsulation;
    path.source = address_of(packet.source, world_.encapsulation);
    path.destination = address_of(packet.destination, world_.encapsulation);
    path.has_vlan = true;  // the service level travels as its priority
    path.vlan_id = 7;
    return path;
}

uint32_t Network::take_off(Link& link, const wire::Packet& sent, uint32_t to, bool damaged) {
    wire::Packet packet = sent;
    if (link.marks.per_million(world_.faults.mark)) mark(packet);
    if (free_.empty()) {
        free_.push_back(static_cast<uint32_t>(flights_.size()));
        flights_.emplace_back();
    }
    const uint32_t index = free_.back();
    free_.pop_back();
    Flight& flight = flights_[index];
    flight.packet = packet;
    flight.to = to;
    flight.damaged = damaged;
    flight.payload.clear();
    flight.bytes.clear();
    if (packet.payload_length != 0 && !packet.has_selective_ack()) {
        const std::byte* bytes = packet.payload.address();
        flight.payload.assign(bytes, bytes + packet.payload_length);
    }
    // That a packet was trimmed is not in its bytes, nor what unordered delivery adds.
    const bool has_more =
        world_.delivery != transport::Delivery::ordered &&
        wire::service_of(static_cast<uint8_t>(packet.opcode)) == wire::Service::rc;
    if (packet.trimmed || (!damaged && has_more) ||
        (!damaged && !link.draw.percent(world_.bytes_percent)))
        return index;
    ++tally_.through_bytes;
    flight.bytes.resize(packet.payload_length + 200);
    flight.bytes.resize(
        wire::encode(packet, path_of(packet), wire::Bytes(flight.payload), flight.bytes));
    if (damaged) damage(link, flight.bytes);
    return index;
}

bool Network::trim(Link& link, wire::Packet& packet) const {
    const bool has_data = packet.payload_length != 0 && !packet.has_selective_ack();
    if (!has_data || !link.draw.per_million(world_.faults.trim)) return false;
    packet.trimmed = true;
    packet.payload_length = 0;
    packet.payload = {};
    return true;
}

void Network::mark(wire::Packet& packet) const {
    if (wire::is_infiniband(world_.encapsulation))
        packet.fecn = true;
    else
        packet.traffic_class |= 3;
}

// One to three bits: so many a CRC of 32 bits finds out in packets of this size.
void Network::damage(Link& link, std::vector<std::byte>& bytes) {
    const uint32_t count = link.draw.between(1, 3);
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t bit = link.draw.between(0, static_cast<uint32_t>(bytes.size() * 8) - 1);
        bytes[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
    }
}

std::optional<wire::Packet> Network::arrive(uint32_t index) {
    const Flight& flight = flights_[index];
    if (flight.bytes.empty()) {
        wire::Packet packet = flight.packet;
        if (!flight.payload.empty()) packet.payload = wire::Payload::memory(flight.payload.data());
        return packet;
    }
    const auto link = wire::is_infiniband(world_.encapsulation) ? wire::LinkLayer::infiniband
                                                                : wire::LinkLayer::ethernet;
    const wire::Frame frame = wire::parse_frame(link, flight.bytes);
    const bool sound = frame.kind == wire::FrameKind::transport && !frame.cut &&
                       frame.icrc.value == wire::expected_icrc(frame, flight.bytes);
    if (!sound && !flight.damaged) throw Failure("a packet does not survive its own encoding");
    if (!sound) {
        ++tally_.damaged;
        return std::nullopt;
    }
    wire::Packet packet = wire::packet_of(frame);
    packet.source = flight.packet.source;
    packet.destination = flight.packet.destination;
    if (!flight.damaged) return packet;
    // The ICRC found nothing: then it covers none of the bits, and what they say is as it was.
    const bool same =
        packet.opcode == flight.packet.opcode && packet.psn() == flight.packet.psn() &&
        packet.dest_qp() == flight.packet.dest_qp() &&
        (packet.has_selective_ack() || std::equal(frame.payload.begin(), frame.payload.end(),
                                                  flight.payload.begin(), flight.payload.end()));
    if (!same) throw Failure("a damaged packet passes the check of its ICRC");
    return std::nullopt;
}

}  // namespace tulle::swarm
