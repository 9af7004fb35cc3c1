#include "live/udp_carrier.h"

#include <algorithm>

#include "live/clock.h"
#include "live/grh.h"
#include "wire/ip.h"
#include "wire/mad/mad.h"

namespace tulle::live {
namespace {

using base::Instant;
using wire::Packet;

// Whether a packet is a datagram to queue pair 1 that it takes.
bool is_management(const Packet& packet) {
    return is_datagram(packet) && packet.dest_qp() == transport::kGeneralServices &&
           packet.extended.send.qkey == wire::kGsiQKey;
}

}  // namespace

base::Result<std::unique_ptr<UdpCarrier>> UdpCarrier::open(const Parts& parts) {
    auto path = UdpPath::open(parts.world.own().identity().listens);
    if (!path) return path.error();
    return std::make_unique<UdpCarrier>(parts, std::move(*path));
}

UdpCarrier::UdpCarrier(const Parts& parts, std::unique_ptr<UdpPath> path)
    : world_(parts.world),
      connections_(parts.connections),
      adapter_(parts.adapter),
      reports_(parts.reports),
      owner_(parts.owner),
      wire_(parts.wire),
      who_(world_.own().identity()),
      path_(std::move(path)),
      neighbours_(world_, *path_) {
    neighbours_.begin(now());
}

bool UdpCarrier::has_room() {
    if (!sockets().is_full()) [[likely]]
        return true;
    sockets().flush();
    return !sockets().is_full();
}

const UdpAddress* UdpCarrier::address_for(const wire::Gid& group) const {
    const auto fits = [&](const wire::Gid& own) {
        const auto found = std::ranges::find(who_.listens, own, &UdpAddress::gid);
        const bool is_good =
            found != who_.listens.end() && wire::is_ipv4(own) == wire::is_ipv4(group);
        return is_good ? &*found : nullptr;
    };
    const UdpAddress* named = fits(world_.groups().source_for(group));
    return named != nullptr ? named : fits(who_.gids[gid_index_for(who_, group)]);
}

int UdpCarrier::join(const wire::Gid& group) {
    const UdpAddress* own = address_for(group);
    if (own == nullptr || joined_[group.bytes]++ != 0) return -1;
    return sockets().join(group, *own);
}

void UdpCarrier::leave(const wire::Gid& group) {
    const auto found = joined_.find(group.bytes);
    if (found == joined_.end() || --found->second != 0) return;
    joined_.erase(found);
    sockets().leave(group);
}

void UdpCarrier::send_to_group(const Packet& packet, const wire::Gid& group) {
    const UdpAddress* own = address_for(group);
    if (own != nullptr) path_->send(own->gid, group, packet);
}

WireCounters UdpCarrier::counters() const {
    WireCounters counted;
    counted.rx_unknown_source = strangers_;
    counted.rx_malformed = path_->counts().malformed;
    counted.rx_icrc_errors = path_->counts().damaged;
    counted.rx_icrc_solved = path_->counts().solved;
    counted.rx_no_process = neighbours_.nobodys();
    counted.rx_handed_over = neighbours_.handed_over();
    counted.cm_held = neighbours_.held();
    counted.tx_errors = sockets().counts().errors;
    return counted;
}

void UdpCarrier::report_errors() {
    sockets().take_new_errors([&](const UdpSockets::Error& error) {
        constexpr size_t kHeaders = wire::Bth::kSize + wire::Deth::kSize;
        constexpr size_t kMessage = kHeaders + wire::kMadSize;
        std::span<const std::byte> quoted;
        if (error.quoted.size() >= kMessage)
            quoted = std::span(error.quoted).subspan(kHeaders, wire::kMadSize);
        for (uint32_t index = 1; index < world_.size(); ++index) {
            const Peer& peer = world_.at(index);
            if (peer.is_remote && !peer.is_gone && is_same(peer.facts.gids[0], error.about))
                reports_.on_unreachable(index, error.number, quoted);
        }
    });
}

void UdpCarrier::receive(Instant time) {
    if (sockets().has_new_errors()) [[unlikely]]
        report_errors();
    if (neighbours_.has_work(time)) {
        neighbours_.work(time);
        while (const auto held = neighbours_.take_held(time)) take_datagram(time, *held, true);
    }
    constexpr int kLooks = 8;  // chosen: leaves time for other work
    const auto take = [&](const UdpArrival& arrival) { receive_datagram(time, arrival); };
    const auto pause = [&] {
        owner_.answer(time);
        sockets().flush();
    };
    for (int looks = 0; looks < kLooks; ++looks)
        if (!sockets().receive(take, pause)) break;
    if (!neighbours_.has_ours()) return;
    for (const uint32_t index : neighbours_.take_ours()) connections_.on_ours(index);
}

// Whether a queue pair waits for such a datagram. If none does, its sender need not be remembered.
bool UdpCarrier::is_wanted(const Packet& packet, const wire::Gid& to) {
    const bool is_for_group = packet.dest_qp().value == kMulticastQpn;
    if (is_for_group || is_multicast(to)) return is_for_group && joined_.contains(to.bytes);
    if (is_management(packet)) return true;
    const auto inner = world_.own().inside_of(packet.dest_qp());
    const transport::QueuePair* qp = inner ? adapter_.queue_pairs().find(*inner) : nullptr;
    return qp != nullptr && qp->type == transport::QpType::ud && qp->receives() &&
           qp->qkey == packet.extended.send.qkey;
}

// A packet from any sender. Packets for a connection must come from its peer's address, which the
// engine checks. Only datagrams and messages of the connection manager may come from unknown
// senders.
void UdpCarrier::receive_datagram(Instant time, const UdpArrival& arrival) {
    const auto verdict = neighbours_.judge(time, arrival);
    if (verdict.whose == UdpNeighbours::Whose::ours) return take_datagram(time, arrival, true);
    if (verdict.whose == UdpNeighbours::Whose::others) handed_.push_back(verdict.peer);
}

void UdpCarrier::take_datagram(Instant time, const UdpArrival& arrival, bool may_hand_over) {
    const auto packet = path_->read(arrival);
    if (!packet) return adapter_.on_damaged_packet();
    if (wire_ && wire_->loses_arrival(time, *packet)) return;
    const bool is_open_to_all = is_datagram(*packet) && is_wanted(*packet, arrival.destination);
    const wire::Gid* own = is_multicast(arrival.destination) ? nullptr : &arrival.destination;
    const auto source = is_open_to_all ? world_.resolve_remote(arrival.source, own)
                                       : world_.find_remote(arrival.source, arrival.destination);
    if (source == World::kNowhere) {
        ++strangers_;
        return;
    }
    world_.at(source.value).heard_at = time;
    if (may_hand_over && is_management(*packet) && packet->payload_length != 0) {
        const wire::Bytes message{packet->payload.address(), packet->payload_length};
        const auto verdict = neighbours_.judge_management(time, arrival, message);
        if (verdict.whose == UdpNeighbours::Whose::others) handed_.push_back(verdict.peer);
        if (verdict.whose != UdpNeighbours::Whose::ours) return;
    }
    if (!is_open_to_all) return owner_.deliver(source.value, time, *packet, {}, 0, nullptr);
    owner_.deliver(source.value, time, *packet,
                   grh_of(*packet, arrival.source, arrival.destination), 0, &arrival.destination);
}

// Accepted only from programs of the same user, which could have sent it to us themselves.
bool UdpCarrier::receive_handed(uint32_t index, Instant time, std::span<const std::byte> record) {
    if (!world_.own().realm().is_own(world_.at(index).who)) return false;
    const auto arrival = UdpNeighbours::read_handed(record);
    if (arrival && UdpSockets::greeting_in(*arrival))
        (void)neighbours_.judge(time, *arrival);
    else if (arrival)
        take_datagram(time, *arrival, false);
    return true;
}

}  // namespace tulle::live
