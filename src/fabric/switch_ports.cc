#include "fabric/switch_ports.h"

namespace tulle::fabric {

SwitchPorts::SwitchPorts(const Settings& of_switch, Cabling& of, const SwitchPlan& plan)
    : settings(of_switch),
      cabling(of),
      trace_(plan.trace),
      node_(plan.node),
      first_(plan.first_port),
      lanes_(of.lanes()),
      count_(plan.port_count),
      has_credits_(of.has_credits()),
      cuts_through_(settings.node.forwarding == Forwarding::cut_through),
      uses_lifetime_(settings.credits.head_of_queue_lifetime.ps != 0) {}

void SwitchPorts::begin() {
    ports_ = &cabling.port(first_);
    outs_ = &cabling.out(first_, 0);
    ins_ = &cabling.in(first_, 0);
    inbound_ = &cabling.inbound(first_);
    for (uint16_t port = 0; port < count_; ++port) settle(ports_[port]);
}

void SwitchPorts::settle(Port& port) const {
    port.settle();
    port.lets_through = !has_credits_ && !cuts_through_ && port.is_up;
}

void SwitchPorts::prefetch() const {
    base::prefetch(ports_, count_ * sizeof(Port));
    base::prefetch(inbound_, count_ * sizeof(Cabling::Inbound));
    base::prefetch(outs_, count_ * lanes_ * sizeof(LaneOut));
    base::prefetch(ins_, count_ * lanes_ * sizeof(LaneIn));
}

void SwitchPorts::prefetch_first() const {
    for (uint16_t port = 0; port < count_; ++port) {
        cabling.store.prefetch(inbound_[port].packets.head);
        cabling.store.prefetch(inbound_[port].control.head);
        const uint32_t filled = ports_[port].filled;
        if (filled != 0)
            cabling.store.prefetch(outs_[port * lanes_ + std::countr_zero(filled)].queue.head);
    }
}

void SwitchPorts::prefetch_second() const {
    for (uint16_t port = 0; port < count_; ++port) {
        cabling.store.prefetch_behind(inbound_[port].packets.head);
        cabling.store.prefetch_behind(inbound_[port].control.head);
    }
}

void SwitchPorts::note_arrival(Instant now, uint32_t port, uint32_t index) {
    const Transit& transit = cabling.store[index];
    if ((transit.flags & Transit::kWatched) == 0) return;
    PacketAccount& account = cabling.journal->account(index);
    const LaneOut& lane = out(port, transit.lane);
    account.held_ps = cabling.held_ps(global(port), transit.lane, now);
    account.found_idle = lane.bytes == 0 && ports_[port].busy_until <= now && cuts_through_ &&
                         (ports_[port].held >> transit.lane & 1) == 0;
    // Whose packets are ahead matters only if the line is slower than the sender's.
    const bool is_slower = cabling.rate(global(port)) < account.first_rate;
    account.own_bytes_ahead = is_slower ? own_bytes_ahead(lane, index) : 0;
}

uint32_t SwitchPorts::own_bytes_ahead(const LaneOut& lane, uint32_t index) {
    const wire::Packet& packet = cabling.store.packet(index);
    uint32_t bytes = 0;
    for (uint32_t i = lane.bytes != 0 ? lane.queue.head : kNoTransit; i != kNoTransit;
         i = cabling.store[i].next) {
        const wire::Packet& ahead = cabling.store.packet(i);
        if (ahead.source == packet.source && ahead.dest_qp() == packet.dest_qp())
            bytes += cabling.store[i].wire_bytes;
    }
    return bytes;
}

void SwitchPorts::keep_sample(TraceSample::Kind kind, Instant now, uint32_t port, uint32_t lane,
                              uint64_t value) {
    trace_->push_back(
        {now, kind, static_cast<uint8_t>(lane), static_cast<uint16_t>(port), node_, value});
}

}  // namespace tulle::fabric
