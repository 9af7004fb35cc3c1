#include "live/connections.h"

#include <algorithm>

namespace tulle::live {
namespace {

using transport::EndpointIndex;

constexpr uint8_t kLeastAckTimeout = 14;  // 67 ms

}  // namespace

uint8_t patient(uint8_t ack_timeout) {
    return ack_timeout == 0 ? ack_timeout : std::max(ack_timeout, kLeastAckTimeout);
}

void Connections::connect(Route& route, EndpointIndex endpoint) {
    if (route.is_connected) {
        --world_.at(route.endpoint.value).connections;
        world_.forget_if_unused(route.endpoint.value);
    }
    route.endpoint = endpoint;
    route.is_connected = endpoint.value < world_.size();
    if (route.is_connected) ++world_.at(endpoint.value).connections;
}

void Connections::forget(wire::Qpn qpn) {
    const uint32_t place = transport::Core::index_of(qpn);
    world_.own().grants().queue_pairs[place].number.store(0);
    world_.own().board().lives[place].store(0);
    world_.own().board().ends[place].store(0);
    connect(routes_[place], World::kNowhere);
    routes_[place] = {};
}

bool Connections::agrees(Route& route) {
    if (route.is_agreed) return true;
    const transport::QueuePair* qp = adapter_.queue_pairs().find(route.qpn);
    const bool is_connected =
        qp != nullptr && (qp->type == transport::QpType::rc || qp->type == transport::QpType::uc);
    if (!is_connected || !route.is_connected) return true;
    const Peer& peer = world_.at(route.endpoint.value);
    if (route.endpoint.value != 0 && !peer.has_board()) return true;
    const Board& there = world_.board_of(route.endpoint);
    const Ends& own = route.ends;
    const Ends peers = Ends::of(there.ends[place_of(there, qp->dest_qpn)].load());
    if (peers.kind == GidKind::unknown) return true;
    const bool are_ports_met = peers.port == own.peer_port && peers.peer_port == own.port;
    route.is_agreed = peers.kind == own.kind && are_ports_met;
    return route.is_agreed;
}

void Connections::note(const transport::QueuePair& qp) {
    const uint32_t place = transport::Core::index_of(qp.number);
    QueuePairNote& note = world_.own().grants().queue_pairs[place];
    note.number.store(0);
    const wire::Qpn number = world_.own().outside_of(qp.number);
    world_.own().board().lives[place].store(life_of(number, qp.state));
    world_.own().board().ends[place].store(routes_[place].ends.byte());
    const EndpointIndex endpoint = qp.address.endpoint;
    const bool is_connected = qp.type == transport::QpType::rc || qp.type == transport::QpType::uc;
    if (!is_connected || !qp.receives() || endpoint == World::kNowhere) return;
    note.peer.store(qp.dest_qpn.value);
    note.peer_instance.store(world_.at(endpoint.value).instance);
    if (cuts_packets(endpoint)) return;
    note.access.store(qp.access);
    note.pd.store(qp.pd.value);
    note.number.store(number.value);
}

uint8_t Connections::ack_timeout_of(const Route& route) const {
    return cuts_packets(route.endpoint) ? route.ack_timeout : patient(route.ack_timeout);
}

void Connections::excuse_slow_peers(base::Instant now) {
    for (uint32_t index = 1; index < world_.size(); ++index) {
        const Peer& peer = world_.at(index);
        if (peer.is_gone || !peer.can_send() || !peer.is_behind()) continue;
        for (const Route& route : routes_)
            if (route.endpoint.value == index && route.qpn.value != 0)
                adapter_.queue_pairs().set_ack_timeout(now, route.qpn, ack_timeout_of(route));
    }
}

void Connections::on_ours(uint32_t peer) {
    for (const Route& route : routes_)
        if (route.is_connected && route.endpoint.value == peer)
            adapter_.queue_pairs().set_loss_policy(route.qpn,
                                                   transport::LossPolicy::selective_repeat);
}

void Connections::on_left(uint32_t peer, base::Instant now) {
    for (const Route& route : routes_)
        if (route.is_connected && route.endpoint.value == peer)
            adapter_.queue_pairs().set_ack_timeout(now, route.qpn, route.ack_timeout);
}

}  // namespace tulle::live
