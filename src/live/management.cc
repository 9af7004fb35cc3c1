// How messages of the connection manager travel: as they are, or, where a capture or faults are
// asked for, as the datagrams to queue pair 1 that they are on the wire. Whoever loses them there
// has its retries.
#include "live/carrier.h"
#include "live/clock.h"

namespace tulle::live {
namespace {

constexpr wire::Qpn kGeneralServices{1};
constexpr uint8_t kDatagram = wire::opcode_of(wire::Service::ud, wire::Operation::send_only);

}  // namespace

void Carrier::send_management(transport::EndpointIndex to, std::span<const std::byte> bytes) {
    if (to.value >= world_.size() || world_.at(to.value).is_gone) return;
    if (to.value == 0) {
        LocalPacket& local = local_.emplace_back();
        local.payload.assign(bytes.begin(), bytes.end());
        local.is_management = true;
        return;
    }
    Peer& peer = world_.at(to.value);
    if (peer.is_remote) return send_management_datagram(to.value, bytes);
    if (!peer.can_send() && !world_.call_peer(peer)) return;
    if (wire_) return send_management_datagram(to.value, bytes);
    const RecordHead head{RecordKind::management, 0, 0};
    std::byte* place = peer.reserve(sizeof head + bytes.size());
    std::memcpy(place, &head, sizeof head);
    std::memcpy(place + sizeof head, bytes.data(), bytes.size());
    sending_.push_back(to.value);
}

void Carrier::send_management_datagram(uint32_t index, std::span<const std::byte> bytes) {
    wire::Packet packet;
    packet.opcode = kDatagram;
    packet.set_dest_qp(kGeneralServices);
    packet.set_psn(wire::Psn{management_psn_++});
    packet.extended.send.qkey = wire::kGsiQKey;
    packet.extended.send.source_qp = kGeneralServices;
    packet.payload = wire::Payload::memory(bytes.data());
    packet.payload_length = static_cast<uint32_t>(bytes.size());
    time_ = now();
    if (world_.at(index).is_remote) return send_remote(index, packet);
    send_over_wire(index, packet, nullptr);
}

bool is_management(const wire::Packet& packet) {
    return packet.opcode == kDatagram && packet.dest_qp() == kGeneralServices &&
           packet.extended.send.qkey == wire::kGsiQKey;
}

}  // namespace tulle::live
