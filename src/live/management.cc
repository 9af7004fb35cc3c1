// How messages of the connection manager travel: as datagrams to queue pair 1, on the same way as
// all packets. If one is lost, its sender retries.
#include "live/carrier.h"
#include "live/clock.h"

namespace tulle::live {
namespace {

constexpr wire::Qpn kGeneralServices{1};
constexpr uint8_t kDatagram = wire::opcode_of(wire::Service::ud, wire::Operation::send_only);

}  // namespace

void Carrier::send_management(transport::EndpointIndex to, std::span<const std::byte> bytes) {
    const uint32_t index = to.value;
    if (index >= world_.size() || world_.at(index).is_gone) return;
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
    if (index != 0 && wire_) return send_over_wire(index, packet, nullptr);
    send_to(index, packet, {});
}

bool is_management(const wire::Packet& packet) {
    return packet.opcode == kDatagram && packet.dest_qp() == kGeneralServices &&
           packet.extended.send.qkey == wire::kGsiQKey;
}

}  // namespace tulle::live
