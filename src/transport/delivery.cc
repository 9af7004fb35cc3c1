#include "transport/delivery.h"

#include "transport/completer.h"
#include "transport/credit/credit.h"
#include "transport/migration.h"
#include "transport/notify.h"
#include "transport/rd.h"
#include "transport/responder.h"
#include "transport/responses.h"
#include "transport/unreliable.h"
#include "transport/xrc.h"
#include "wire/partition_keys.h"

namespace tulle::transport {
namespace {

// A packet of a reliable connection that passes all checks of passes_checks() and deliver().
bool is_usual(const QueuePair& qp, ShortWay way, const Packet& packet) {
    return qp.type_for(way) == QpType::rc && qp.state == QpState::rts && packet.pkey == qp.pkey &&
           qp.migration == Migration::migrated && wire::is_full_member(qp.pkey) &&
           packet.source == qp.address.endpoint.value && !packet.becn && !is_marked(packet);
}

// Fast paths for the most common packets: the middle of a WRITE, and an ACK in the middle of any
// message. Queue pairs that spread packets tell congestion control of each answer (unordered.h).
bool goes_short_way(Core& core, QueuePair& qp, Instant now, const Packet& packet) {
    switch (packet.opcode) {
        case wire::opcode_of(Service::rc, wire::Operation::write_middle):
            return is_usual(qp, ShortWay::continue_write, packet) &&
                   continue_write(core, qp, packet);
        case wire::opcode_of(Service::rc, wire::Operation::acknowledge):
            return is_usual(qp, ShortWay::acknowledge_middle, packet) && !qp.spread &&
                   acknowledge_middle(core, qp, now, packet);
        default: return false;
    }
}

// The checks of every packet, whatever its operation (9.6.1): the service fits the queue pair, the
// queue pair receives, and the keys match. Packets that fail are dropped and counted.
bool passes_checks(Core& core, QueuePair& qp, const Packet& packet) {
    const auto opcode = static_cast<uint8_t>(packet.opcode);
    if (packet.opcode != wire::kCnpOpcode &&
        (wire::service_of(opcode) != qp.service() ||
         !takes_direction(qp, wire::opcode_info(opcode).response))) {
        ++core.counters.dropped_silently;
        return false;
    }
    if (!qp.receives()) {
        ++core.counters.dropped_bad_state;
        return false;
    }
    if (!wire::partitions_match(packet.pkey, qp.pkey)) {
        ++core.counters.pkey_violations;
        return false;
    }
    // The Q_Key of a reliable datagram is checked when its turn comes, and answered (rd.cc).
    const bool has_qkey =
        qp.type == QpType::ud && (wire::opcode_info(opcode).headers & wire::kDeth) != 0;
    if (has_qkey && packet.extended.send.qkey != qp.qkey) {
        ++core.counters.qkey_violations;
        return false;
    }
    // On a connection, packets come only from the peer (9.6.1.4).
    if (qp.type != QpType::ud && packet.source != qp.address.endpoint.value &&
        packet.source != qp.alternate.endpoint.value) {
        ++core.counters.dropped_silently;
        return false;
    }
    return true;
}

void deliver_to(Core& core, Instant now, QueuePair& qp, const Packet& packet, wire::Bytes grh) {
    if (!passes_checks(core, qp, packet)) return;
    if (packet.opcode == wire::kCnpOpcode) {
        if (packet.becn || !qp.spread || !qp.spread->credit.is_used())
            return on_notified(core, qp, now, Signal::Kind::cnp);
        return on_grant(core, qp, now, packet);
    }
    if (is_marked(packet)) on_marked(core, qp, now, packet);
    if (packet.becn) on_notified(core, qp, now, Signal::Kind::becn);
    if (packet.trimmed && !qp.is_reliable()) {
        ++core.counters.dropped_silently;  // a gap, as if it were lost
        return;
    }
    if (qp.type == QpType::ud) return on_datagram(core, qp, packet, grh);
    if (qp.state == QpState::rtr && !qp.responder.established) {
        qp.responder.established = true;
        core.raise(EventKind::communication_established, qp.number.value);
    }
    heed_migration(core, qp, packet);
    const wire::OpcodeInfo& info = wire::opcode_info(static_cast<uint8_t>(packet.opcode));
    if (qp.type == QpType::uc)
        on_uc_request(core, qp, packet);
    else if (info.response)
        on_response(core, qp, now, packet);
    else
        on_request(core, qp, now, packet);
    if (!qp.responder.answers.empty()) fetch_answers(core, qp, now);
}

// The connection of a reliable datagram is its EE context.
void deliver_rd(Core& core, Instant now, const Packet& packet) {
    QueuePair* half = half_for(core, packet);
    if (half == nullptr) {
        ++core.counters.dropped_no_qp;
        return;
    }
    if (!passes_checks(core, *half, packet)) return;
    if (is_marked(packet)) on_marked(core, *half, now, packet);
    on_rd_packet(core, *half, now, packet);
    if (!half->responder.answers.empty()) fetch_answers(core, *half, now);
}

}  // namespace

void deliver(Core& core, Instant now, const Packet& packet, wire::Bytes grh) {
    if (packet.kind != wire::PacketKind::transport) [[unlikely]] {
        if (packet.kind == wire::PacketKind::back_pressure)
            on_back_pressure(core, now, {packet.source}, packet.extended.send.immediate_or_rkey);
        return;
    }
    ++core.counters.port_rcv_packets;
    core.counters.port_rcv_data_bytes += packet.payload_length;
    QueuePair* qp = core.find(packet.dest_qp());
    if (qp != nullptr && goes_short_way(core, *qp, now, packet)) return;
    if (packet.payload_length > core.config.max_payload) {
        ++core.counters.port_rcv_errors;
        return;
    }
    if (wire::service_of(static_cast<uint8_t>(packet.opcode)) == Service::rd)
        return deliver_rd(core, now, packet);
    if (packet.dest_qp().value == kMulticastQpn) {
        ++core.counters.multicast_rcv_packets;
        return deliver_multicast(core, now, packet, grh);
    }
    if (qp == nullptr) {
        ++core.counters.dropped_no_qp;
        return;
    }
    deliver_to(core, now, *qp, packet, grh);
}

void deliver_to_refuse(Core& core, Instant now, const Packet& packet, uint8_t syndrome) {
    QueuePair* qp = core.find(packet.dest_qp());
    const bool is_request = !wire::opcode_info(static_cast<uint8_t>(packet.opcode)).response;
    if (qp == nullptr || (qp->type != QpType::rc && qp->type != QpType::xrc_target) || !is_request)
        return deliver(core, now, packet, {});
    ++core.counters.port_rcv_packets;
    core.counters.port_rcv_data_bytes += packet.payload_length;
    if (passes_checks(core, *qp, packet)) refuse_request(core, *qp, now, packet, syndrome);
}

void deliver_multicast(Core& core, Instant now, const Packet& packet, wire::Bytes grh) {
    for (const MulticastMember& member : core.members)
        if (member.group.value == packet.destination)
            deliver_to(core, now, *core.find(member.qpn), packet, grh);
}

}  // namespace tulle::transport
