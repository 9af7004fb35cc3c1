#include "transport/notify.h"

#include "transport/responder.h"

namespace tulle::transport {
namespace {

// Notifications may be lost, so those of a blocked lane need not all be kept.
constexpr size_t kMaxWaiting = 1024;

void send_notification(Core& core, const QueuePair& qp, const Packet& packet) {
    if (core.notifications.size() >= kMaxWaiting) return;
    if (core.notifications.full()) core.notifications.grow();
    const Qpn to = qp.type == QpType::ud ? packet.extended.send.source_qp : qp.dest_qpn;
    core.notifications.push_back(
        {EndpointIndex{packet.source}, to, packet.pkey, packet.entropy, 0, false});
}

}  // namespace

void on_marked(Core& core, QueuePair& qp, Instant now, const Packet& packet) {
    if ((packet.traffic_class & 3) == 3) ++core.counters.np_ecn_marked_roce_packets;
    const bool is_response = info_of(packet).response;
    // Answers without data do not fill queues, and a group has many receivers.
    if (is_response && packet.payload_length == 0) return;
    const bool is_unicast = packet.dest_qp() == qp.number || qp.type >= QpType::ee_requester;
    if (!is_unicast) return;
    ResponderState& r = qp.responder;
    const NotificationSettings& settings = core.config.notifications;
    const bool by_answer = packet.fecn || settings.way == NotificationSettings::Way::answer;
    if (by_answer && qp.is_reliable() && !is_response) {
        r.echoes_mark = true;
        return;
    }
    if (qp.type >= QpType::ee_requester || now < r.next_notification) return;
    r.next_notification = now + settings.interval;
    send_notification(core, qp, packet);
}

void on_notified(Core& core, QueuePair& qp, Instant now, Signal::Kind kind) {
    if (!heeds_notifications(qp.congestion.algorithm)) {
        ++core.counters.rp_cnp_ignored;
        return;
    }
    ++core.counters.rp_cnp_handled;
    on_signal(qp.congestion, now, {.kind = kind});
}

void on_back_pressure(Core& core, Instant now, EndpointIndex host, uint32_t sharers) {
    core.for_each([&](QueuePair& qp) {
        if (qp.congestion.algorithm == Algorithm::back_pressure &&
            qp.address.endpoint.value == host.value)
            on_signal(qp.congestion, now,
                      {.kind = Signal::Kind::back_pressure, .sharers = sharers});
    });
}

bool make_notification(Core& core, uint32_t room, Packet& packet) {
    const uint32_t size = wire::opcode_info(wire::kCnpOpcode).header_size;
    if (core.config.envelope_bytes + size > room) return false;
    const NotificationSettings& settings = core.config.notifications;
    const Notification notification = core.notifications.pop_front();
    packet = Packet{};
    packet.source = core.config.endpoint.value & 0xff'ffff;
    packet.destination = notification.to.value & 0xff'ffff;
    packet.traffic_class = settings.traffic_class;
    packet.service_level = settings.service_level & 0xf;
    packet.entropy = notification.entropy;
    packet.pkey = notification.pkey;
    packet.set_dest_qp(notification.qpn);
    packet.opcode = wire::kCnpOpcode;
    packet.becn = !notification.is_grant;
    if (notification.is_grant)
        packet.extended.ack = {0, notification.credit, 0, {}};
    else
        ++core.counters.np_cnp_sent;
    return true;
}

}  // namespace tulle::transport
