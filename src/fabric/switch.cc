#include "fabric/switch.h"

#include "fabric/marking.h"
#include "fabric/trimming.h"
#include "wire/opcode.h"

namespace tulle::fabric {
namespace {

constexpr uint8_t kMaxHops = 64;
constexpr uint32_t kSwitchStream = 1;
// The most switches of its own group that a dragonfly's packet passes before it leaves.
constexpr uint32_t kHopsInGroup = 2;

constexpr uint16_t bit_of(uint32_t lane) {
    return static_cast<uint16_t>(1u << lane);
}

constexpr bool is_several(uint32_t lanes) {
    return (lanes & (lanes - 1)) != 0;
}

}  // namespace

Switch::Switch(const Settings& settings, Cabling& cabling, SwitchPlan plan)
    : settings_(settings),
      cabling_(cabling),
      plan_(std::move(plan)),
      packets_(plan_.port_count),
      lines_(plan_.port_count),
      rare_(plan_.port_count + 2u),
      intake_(settings, cabling, timers_, plan_.first_port, plan_.port_count,
              settings.node.buffer_bytes),
      random_({plan_.seed, kSwitchStream, plan_.node}),
      chooser_(settings.route, plan_.node, plan_.port_count, random_.next(), plan_.dragonfly,
               plan_.neighbours),
      back_pressure_(settings.back_pressure, plan_.port_count),
      lanes_(cabling.lanes()),
      has_credits_(cabling.has_credits()),
      uses_lifetime_(settings.credits.head_of_queue_lifetime.ps != 0),
      cuts_through_(settings.node.forwarding == Forwarding::cut_through),
      marks_at_dequeue_(settings.marking == Marking::ecn && settings.ecn.at_dequeue),
      marks_at_enqueue_(settings.marking != Marking::none && !marks_at_dequeue_),
      watches_queues_(marks_at_enqueue_ || back_pressure_.is_used() ||
                      chooser_.warnings().is_used()),
      watches_heads_(uses_lifetime_ || chooser_.warnings().is_used()),
      is_simple_(!has_credits_ && !cuts_through_) {
    if (settings.arbitration == Arbitration::vl_tables) rounds_.resize(plan_.port_count);
    if (!plan_.changes.empty()) rare_.set(change_source(), plan_.changes.front().at);
}

void Switch::begin() {
    ports_ = &cabling_.port(plan_.first_port);
    outs_ = &cabling_.out(plan_.first_port, 0);
    ins_ = &cabling_.in(plan_.first_port, 0);
    inbound_ = &cabling_.inbound(plan_.first_port);
    routes_row_ = plan_.routes->row(plan_.node);
    chooser_.begin(cabling_, plan_.first_port, ports_);
    if (plan_.groups != nullptr) reductions_ = Reductions(*plan_.groups);
    for (uint16_t port = 0; port < plan_.port_count; ++port) settle(ports_[port]);
}

void Switch::settle(Port& port) const {
    port.settle();
    port.lets_through = is_simple_ && port.is_up;
}

void Switch::prefetch(uint32_t depth) const {
    switch (depth) {
        case 1: return prefetch_tables();
        case 2: return prefetch_first();
        case 3: return prefetch_second();
        default: break;
    }
}

void Switch::prefetch_tables() const {
    base::prefetch(ports_, plan_.port_count * sizeof(Port));
    base::prefetch(inbound_, plan_.port_count * sizeof(Cabling::Inbound));
    base::prefetch(outs_, plan_.port_count * lanes_ * sizeof(LaneOut));
    base::prefetch(ins_, plan_.port_count * lanes_ * sizeof(LaneIn));
    packets_.prefetch();
    lines_.prefetch();
    rare_.prefetch();
}

// Prefetches the first packet to arrive at each port, and one that is first to leave.
void Switch::prefetch_first() const {
    for (uint16_t port = 0; port < plan_.port_count; ++port) {
        cabling_.store.prefetch(inbound_[port].packets.head);
        cabling_.store.prefetch(inbound_[port].control.head);
        const uint32_t filled = ports_[port].filled;
        if (filled != 0)
            cabling_.store.prefetch(outs_[port * lanes_ + std::countr_zero(filled)].queue.head);
    }
}

// Prefetches the packets behind those. From then on each packet prefetches the next but one.
void Switch::prefetch_second() const {
    for (uint16_t port = 0; port < plan_.port_count; ++port) {
        cabling_.store.prefetch_behind(inbound_[port].packets.head);
        cabling_.store.prefetch_behind(inbound_[port].control.head);
    }
}

Instant Switch::advance(Instant until) {
    return has_credits_ ? act<true>(until) : act<false>(until);
}

template <bool kCredits>
Instant Switch::act(Instant until) {
    cabling_.take_fresh(plan_.first_port, plan_.port_count, [&](uint32_t p) {
        const auto port = static_cast<uint16_t>(p - plan_.first_port);
        const Cabling::Inbound& inbound = inbound_[port];
        if (!inbound.packets.empty()) packets_.set(port, cabling_.store[inbound.packets.head].at);
        if (!inbound.control.empty()) rare_.set(port, cabling_.store[inbound.control.head].at);
    });
    const uint64_t limit = TimeTree::key_of(until, 0);
    for (;; ++events_) {
        // At one instant, rare events come first, then packets, then lines; each by port.
        const uint64_t packet = packets_.first_key();
        const uint64_t line = lines_.first_key();
        const bool is_packet = packet <= TimeTree::end_of_instant(line);
        const uint64_t usual = is_packet ? packet : line;
        if (rare_.first_key() <= TimeTree::end_of_instant(usual) || usual >= limit) [[unlikely]] {
            if (rare_.first_key() >= limit) break;
            on_rare(rare_.first_at());
        } else if (is_packet) {
            on_packet<kCredits>(TimeTree::instant_of(packet), TimeTree::source_of(packet));
        } else {
            on_line_free<kCredits>(TimeTree::instant_of(line), TimeTree::source_of(line));
        }
    }
    return std::min({packets_.first_at(), lines_.first_at(), rare_.first_at()});
}

void Switch::on_rare(Instant now) {
    const uint32_t source = rare_.first_source();
    if (source == timer_source()) return on_timer(now);
    if (source == change_source()) return on_change(now);
    on_control(now, static_cast<uint16_t>(source));
}

template <bool kCredits>
void Switch::on_packet(Instant now, uint32_t in) {
    Fifo& coming = inbound_[in].packets;
    const uint32_t index = coming.head;
    Transit& transit = cabling_.store[index];
    coming.head = transit.next;
    uint64_t next = TimeTree::kNever;
    if (!coming.empty()) {
        const Transit& following = cabling_.store[coming.head];
        cabling_.store.prefetch(following.next);
        next = TimeTree::near_key_of(following.at, in);
    }
    packets_.set_key(in, next);

    const Port& from = ports_[in];
    transit.in_port = static_cast<uint16_t>(in);
    transit.in_lane = transit.lane;
    const bool spends = kCredits && spends_credits(transit);
    if (spends) intake_.receive(in, transit.lane, transit.wire_bytes);
    ++transit.hops;
    const bool is_odd =
        from.is_odd || transit.hops > kMaxHops || transit.destination >= kGroupBit ||
        (transit.flags & (Transit::kCorrupt | Transit::kFixedPath | Transit::kWatched)) != 0;
    if (is_odd) [[unlikely]]
        return on_odd_packet(now, in, index);
    uint16_t to = 0;
    if (!choose(now, transit, index, to)) return drop_arriving(now, in, index, Drop::no_route);
    forward<false>(now, in, to, index, spends);
}

void Switch::on_odd_packet(Instant now, uint32_t in, uint32_t index) {
    const Port& from = ports_[in];
    Transit& transit = cabling_.store[index];
    if (const auto flaw = flaw_of(from, transit)) return drop_arriving(now, in, index, *flaw);
    if (from.is_guarded && refuses_from(in, index)) return refuse(now, in, index, true);
    if (from.is_behind_dateline && transit.lane == 0) transit.lane = 1;
    if (from.raises_lane && transit.lane + 1u < std::min(lanes_, kManagementLane)) ++transit.lane;
    uint16_t to = kNoPort;
    if (transit.destination >= kGroupBit && !leaves_group(now, in, index, to)) return;
    if (to == kNoPort) to = way_of(now, from, index);
    if (to == kNoPort) return drop_arriving(now, in, index, Drop::no_route);
    if (from.is_guarded && refuses_to(to, index)) return refuse(now, to, index, false);
    if (from.maps_lanes && transit.lane != kManagementLane)
        transit.lane = mapped_lane(in, to, index);
    forward<true>(now, in, to, index, spends_credits(transit));
}

uint16_t Switch::way_of(Instant now, const Port& from, uint32_t index) {
    const Transit& transit = cabling_.store[index];
    if ((transit.flags & Transit::kFixedPath) != 0) return fixed_port(transit);
    if (from.offers_detours && transit.hops <= kHopsInGroup)
        return chooser_.choose_ugal(ask(now, ports_to(transit.destination), index));
    uint16_t to = kNoPort;
    return choose(now, transit, index, to) ? to : kNoPort;
}

uint8_t Switch::mapped_lane(uint32_t in, uint16_t out, uint32_t index) const {
    const uint32_t ports = plan_.port_count + 1u;
    const uint64_t map = plan_.lanes[(in + 1) * ports + out + 1];
    return static_cast<uint8_t>(map >> (4 * cabling_.store.packet(index).service_level) & 15);
}

// Moves a packet to its output port: onto the line at once, or into a queue.
template <bool kIsOdd>
void Switch::forward(Instant now, uint32_t in, uint32_t to, uint32_t index, bool spends) {
    const Port& from = ports_[in];
    const Transit& transit = cabling_.store[index];
    if (can_go_straight(now, ports_[to])) return send(now, to, index);
    if (!ports_[to].is_up) return drop_arriving(now, to, index, Drop::link_down);
    if (spends) {
        intake_.watch_credits(now, in, transit.in_lane, to);
        if (from.owed.any()) start(now, in);
    } else if (!admit(now, in, to, index)) {
        const bool lossless = (from.lossless & bit_of(transit.in_lane)) != 0;
        sample(TraceSample::Kind::drop, now, to, transit.lane, 1);
        return cabling_.drop(now, global(to), index,
                             lossless ? Drop::headroom_full : Drop::buffer_full);
    }
    if constexpr (kIsOdd) note_arrival(now, to, index);
    enqueue(now, to, index);
}

void Switch::on_control(Instant now, uint16_t port) {
    const Cabling::ControlEffect effect = cabling_.on_control(global(port), now);
    if (effect.warning) chooser_.warnings().hear(port, *effect.warning);
    const Fifo& control = inbound_[port].control;
    rare_.set(port, control.empty() ? Instant::never() : cabling_.store[control.head].at);
    for (uint16_t lanes = effect.paused; lanes != 0; lanes &= static_cast<uint16_t>(lanes - 1))
        on_paused(now, port, static_cast<uint32_t>(std::countr_zero(lanes)), effect.until);
    for (uint16_t lanes = effect.opened & ports_[port].held; lanes != 0;
         lanes &= static_cast<uint16_t>(lanes - 1)) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(lanes));
        wait(port, lane).pause_until = now;
        cabling_.let_go(global(port), lane, now);
        sample(TraceSample::Kind::pause_end, now, port, lane, 0);
    }
    start(now, port);
}

template <bool kCredits>
void Switch::on_line_free(Instant now, uint32_t port) {
    Port& to = ports_[port];
    to.is_awaited = false;
    if constexpr (kCredits) {
        free_buffer(now, port);
        if (to.is_awaited) return;
    }
    // The packet that waited is gone, and another one went straight onto the line.
    if (now < to.busy_until) return await_line(port);
    use_line<kCredits>(now, port);
    if (!to.is_awaited) lines_.clear(port);
}

// The last bit of the packet on the line has left.
void Switch::free_buffer(Instant now, uint32_t port) {
    Port& to = ports_[port];
    const uint32_t bytes = to.sending_bytes;
    if (bytes == 0) return;
    to.sending_bytes = 0;
    const bool is_noted = cabling_.journal != nullptr && to.sending_in_port < plan_.port_count;
    if (is_noted && ports_[to.sending_in_port].peer_needs_credits) [[unlikely]]
        cabling_.note_left(global(to.sending_in_port), to.sending_in_lane, global(port),
                           to.sending_in_lane, now);
    release(now, to.sending_in_port, to.sending_in_lane, bytes);
}

// Groups.

bool Switch::leaves_group(Instant now, uint16_t in, uint32_t index, uint16_t& to) {
    const uint32_t number = cabling_.store[index].destination & ~kGroupBit;
    const Group* group = plan_.groups != nullptr && number < plan_.groups->size()
                             ? &(*plan_.groups)[number]
                             : nullptr;
    if (group != nullptr && group->is_reduction()) {
        if (!completes(now, in, index, *group, number)) return false;
        if (group->members.size() == 1) {
            readdress(index, *group, number, group->members.front());
            to = group->members.front().port;
            return true;
        }
    }
    if (group != nullptr && !group->members.empty())
        replicate(now, in, index, *group, number);
    else
        drop_arriving(now, in, index, Drop::no_route);
    return false;
}

bool Switch::completes(Instant now, uint16_t in, uint32_t index, const Group& group,
                       uint32_t number) {
    const std::optional<bool> is_last =
        reductions_.completes(group, number, cabling_.store.packet(index));
    if (!is_last) {
        drop_arriving(now, in, index, Drop::no_route);
        return false;
    }
    if (*is_last) return true;
    const Transit transit = cabling_.store[index];
    ++cabling_.counters(global(in)).reduced;
    cabling_.store.give_back(index);
    if (has_credits_ && transit.in_lane != kManagementLane)
        release(now, in, transit.in_lane, transit.wire_bytes);
    return false;
}

// In lossless traffic the packet is in the input's buffer once, as its sender expects, until the
// last copy has left. Elsewhere each copy needs room of its own.
void Switch::replicate(Instant now, uint16_t in, uint32_t index, const Group& group,
                       uint32_t number) {
    Transit original = cabling_.store[index];
    const wire::Packet packet = cabling_.store.packet(index);
    const bool spends = has_credits_ && original.in_lane != kManagementLane;
    const uint16_t first = group.members.front().port;
    const uint16_t to = first == Group::kByRoute ? in : first;
    if (spends || (ports_[in].lossless & bit_of(original.in_lane)) != 0) {
        if (!spends && !admit(now, in, to, index))
            return cabling_.drop(now, global(in), index, Drop::headroom_full);
        const uint16_t room = shared_rooms_.take(in, static_cast<uint32_t>(group.members.size()));
        original.in_port = static_cast<uint16_t>(plan_.port_count + room);
        TULLE_CHECK(original.in_port >= plan_.port_count);
    }
    cabling_.counters(global(in)).replicated += group.members.size() - 1;
    for (const Group::Member& member : group.members) {
        // The packet itself goes last, because its account must be copied before it is sent.
        const uint32_t copy = &member == &group.members.back() ? index : cabling_.store.take();
        cabling_.store[copy] = original;
        cabling_.store.packet(copy) = packet;
        if ((original.flags & Transit::kWatched) != 0) cabling_.journal->copy(index, copy);
        if (cabling_.telemetry) cabling_.telemetry->copy(index, copy);
        readdress(copy, group, number, member);
        enqueue_copy(now, in, copy, member.port);
    }
    if (spends) intake_.watch_credits(now, in, original.in_lane, to);
    if (ports_[in].owed.any()) start(now, in);
}

void Switch::enqueue_copy(Instant now, uint16_t in, uint32_t index, uint16_t to) {
    const Transit& transit = cabling_.store[index];
    const bool is_stored = transit.in_port >= plan_.port_count;
    const bool has_way = (to != kNoPort || choose(now, transit, index, to)) && ports_[to].is_up;
    if (has_way && (is_stored || admit_lossy(to, index))) {
        note_arrival(now, to, index);
        return enqueue(now, to, index);
    }
    const uint16_t at = to == kNoPort ? in : to;
    const Drop cause = to == kNoPort ? Drop::no_route
                       : has_way     ? Drop::buffer_full
                                     : Drop::link_down;
    if (is_stored) return drop_stored(now, at, index, cause);
    cabling_.drop(now, global(at), index, cause);
}

void Switch::readdress(uint32_t index, const Group& group, uint32_t number,
                       const Group::Member& to) {
    wire::Packet& packet = cabling_.store.packet(index);
    packet.source = group.source != 0 ? group.source : kGroupBit | number;
    packet.destination = to.endpoint;
    packet.set_dest_qp(to.qpn);
    if ((wire::opcode_info(static_cast<uint8_t>(packet.opcode)).headers & wire::kReth) != 0)
        packet.extended.rdma.rkey = to.rkey;
    cabling_.store[index].destination = to.endpoint;
}

void Switch::release_shared(Instant now, uint16_t room, uint8_t lane, uint32_t bytes) {
    const auto place = static_cast<uint16_t>(room - plan_.port_count);
    if (const auto in = shared_rooms_.release(place)) release(now, *in, lane, bytes);
}

// Where to.

std::optional<Drop> Switch::flaw_of(const Port& from, const Transit& transit) const {
    if (!from.is_up) return Drop::link_down;
    if ((transit.flags & Transit::kCorrupt) != 0) return Drop::corrupted;
    if (transit.hops > kMaxHops) return Drop::hop_limit;
    return std::nullopt;
}

bool Switch::refuses_from(uint32_t in, uint32_t index) const {
    const uint32_t host = plan_.hosts[in];
    return host != SwitchPlan::kNoHost &&
           !plan_.tenancy->lets_in(host, cabling_.store.packet(index));
}

bool Switch::refuses_to(uint32_t out, uint32_t index) const {
    const uint32_t host = plan_.hosts[out];
    return host != SwitchPlan::kNoHost &&
           !plan_.tenancy->lets_out(host, cabling_.store.packet(index));
}

void Switch::refuse(Instant now, uint32_t port, uint32_t index, bool as_sent) {
    const wire::Packet& packet = cabling_.store.packet(index);
    ++cabling_.refused[{.port = global(port),
                        .source = packet.source,
                        .destination = packet.destination,
                        .as_sent = as_sent}];
    drop_arriving(now, port, index, Drop::other_tenant);
}

uint16_t Switch::fixed_port(const Transit& transit) const {
    const auto& path = (*plan_.paths)[transit.flow];
    return transit.hops <= path.size() ? path[transit.hops - 1u] : kNoPort;
}

bool Switch::choose(Instant now, const Transit& transit, uint32_t index, uint16_t& to) {
    const PortList ports = ports_to(transit.destination);
    if (ports.size() == 1) {
        to = ports[0];
        return true;
    }
    if (chooser_.is_by_hash() && !ports.empty()) {
        to = chooser_.by_hash(ports, transit.flow);
        return true;
    }
    to = choose_otherwise(now, ports, index);
    return to != kNoPort;
}

uint16_t Switch::choose_otherwise(Instant now, PortList ports, uint32_t index) {
    return chooser_.choose(ask(now, ports, index));
}

// Storage.

bool Switch::admit(Instant now, uint32_t in, uint32_t to, uint32_t index) {
    const Port& from = ports_[in];
    const Transit& transit = cabling_.store[index];
    if ((from.lossless & bit_of(transit.in_lane)) == 0) return admit_lossy(to, index);
    if (!intake_.admit(now, input(in, transit.in_lane), transit.wire_bytes, to)) return false;
    if (from.owed.pause != 0) {
        heed_timers();
        start(now, in);
    }
    return true;
}

bool Switch::admit_lossy(uint32_t to, uint32_t index) {
    const Transit& transit = cabling_.store[index];
    if (intake_.admit_lossy(out(to, transit.lane).bytes, transit.wire_bytes)) return true;
    return settings_.overflow == Overflow::trim && admit_trimmed(to, index);
}

// Without its payload the packet may find room, in the lane of trimmed packets.
bool Switch::admit_trimmed(uint32_t to, uint32_t index) {
    Transit& transit = cabling_.store[index];
    const auto bytes = trimmed_bytes(settings_, transit, cabling_.store.packet(index));
    const uint8_t lane = settings_.qos.trimmed_lane;
    if (!bytes || !intake_.admit_lossy(out(to, lane).bytes, *bytes)) return false;
    trim(transit, *bytes, lane);
    ++cabling_.counters(global(to)).trimmed;
    if ((transit.flags & Transit::kWatched) != 0)
        cabling_.journal->lose(index, cabling_.place(global(to)), Drop::buffer_full);
    return true;
}

void Switch::release(Instant now, uint32_t in, uint8_t lane, uint32_t bytes) {
    if (in >= plan_.port_count) [[unlikely]]
        return release_shared(now, in, lane, bytes);
    intake_.release(now, in, lane, bytes);
    if (ports_[in].owed.any()) start(now, in);
}

// Queues.

void Switch::enqueue(Instant now, uint32_t port, uint32_t index) {
    Transit& transit = cabling_.store[index];
    Port& to = ports_[port];
    const uint16_t bit = bit_of(transit.lane);
    if ((to.storming & bit) != 0 && now < wait(port, transit.lane).storm_until)
        return drop_stored(now, port, index, Drop::watchdog);
    if (watches_queues_) watch_queue(now, port, index);
    LaneOut& lane = out(port, transit.lane);
    if (lane.bytes == 0 && (uses_lifetime_ || (to.held & bit) != 0))
        wait(port, transit.lane).held_since = wait(port, transit.lane).head_since = now;
    lane.queue.push(cabling_.store, index);
    lane.bytes += transit.wire_bytes;
    to.queued_bytes += transit.wire_bytes;
    to.peak_queue_bytes = std::max(to.peak_queue_bytes, to.queued_bytes);
    to.filled |= bit;
    sample(TraceSample::Kind::queue_bytes, now, port, transit.lane, lane.bytes);
    if (to.is_awaited) return;
    if (now < to.busy_until)
        await_line(port);
    else
        start_idle(now, port);
}

// Nothing waits or is in the way: the packet would be stored and taken out at once.
bool Switch::can_go_straight(Instant now, const Port& to) const {
    return now >= to.busy_until && (to.filled | to.held | to.storming) == 0 && !to.owed.any() &&
           to.lets_through;
}

// For the journal: what is ahead of a packet that arrives.
void Switch::note_arrival(Instant now, uint32_t port, uint32_t index) {
    const Transit& transit = cabling_.store[index];
    if ((transit.flags & Transit::kWatched) == 0) return;
    PacketAccount& account = cabling_.journal->account(index);
    const LaneOut& lane = out(port, transit.lane);
    account.held_ps = cabling_.held_ps(global(port), transit.lane, now);
    account.found_idle = lane.bytes == 0 && ports_[port].busy_until <= now && cuts_through_ &&
                         (ports_[port].held >> transit.lane & 1) == 0;
    // Whose packets are ahead matters only if the line is slower than the sender's.
    const bool is_slower = cabling_.rate(global(port)) < account.first_rate;
    account.own_bytes_ahead = is_slower ? own_bytes_ahead(lane, index) : 0;
}

uint32_t Switch::own_bytes_ahead(const LaneOut& lane, uint32_t index) {
    const wire::Packet& packet = cabling_.store.packet(index);
    uint32_t bytes = 0;
    for (uint32_t i = lane.bytes != 0 ? lane.queue.head : kNoTransit; i != kNoTransit;
         i = cabling_.store[i].next) {
        const wire::Packet& ahead = cabling_.store.packet(i);
        if (ahead.source == packet.source && ahead.dest_qp() == packet.dest_qp())
            bytes += cabling_.store[i].wire_bytes;
    }
    return bytes;
}

void Switch::mark(Instant now, uint32_t port, uint32_t index) {
    Transit& transit = cabling_.store[index];
    const uint32_t queued = out(port, transit.lane).bytes;
    bool marks = false;
    if (settings_.marking == Marking::ecn) {
        marks = (transit.flags & Transit::kEcnCapable) != 0 &&
                ecn_marks(plan_.ecn.empty() ? settings_.ecn : plan_.ecn[port], queued, random_);
    } else if ((transit.flags & Transit::kData) != 0) {
        const bool is_victim = (ports_[port].held & bit_of(transit.lane)) != 0;
        marks = fecn_marks(settings_.fecn, queued, wait(port, transit.lane), is_victim,
                           transit.wire_bytes);
    }
    if (!marks || (transit.flags & Transit::kMarked) != 0) return;
    transit.flags |= Transit::kMarked;
    ++cabling_.counters(global(port)).marked;
    sample(TraceSample::Kind::mark, now, port, transit.lane, 1);
    if ((transit.flags & Transit::kWatched) != 0)
        cabling_.journal->account(index).marked_at = cabling_.place(global(port));
}

// A packet has entered a queue.
void Switch::watch_queue(Instant now, uint32_t port, uint32_t index) {
    if (marks_at_enqueue_) mark(now, port, index);
    if (back_pressure_.is_used() && ports_[port].leads_to_host) hold_up_source(now, port, index);
    if (chooser_.warnings().is_used())
        warn(now, port, ports_[port].queued_bytes + cabling_.store[index].wire_bytes);
}

// A packet has left a queue.
void Switch::watch_head(Instant now, uint32_t port, uint32_t lane) {
    if (uses_lifetime_) wait(port, lane).head_since = now;
    if (chooser_.warnings().is_used()) warn(now, port, ports_[port].queued_bytes);
}

// Warns neighbours that the queue of a port has become long, or is long no more.
void Switch::warn(Instant now, uint32_t port, uint32_t queued_bytes) {
    const auto warning = chooser_.warnings().look(static_cast<uint16_t>(port), queued_bytes);
    if (!warning) return;
    for (uint32_t to = 0; to < plan_.port_count; ++to) {
        if (to == port || !ports_[to].is_up || ports_[to].leads_to_host) continue;
        cabling_.warn(global(to), *warning);
        // The line does not start at once: a packet may be in the middle of leaving by another
        // port.
        if (ports_[to].is_awaited) continue;
        ports_[to].is_awaited = true;
        lines_.set_near(to, std::max(now, ports_[to].busy_until));
    }
}

// Tells a source that fills the port of a host how many share it. The message is routed like any
// packet, in a lane that may lose it, and is stored as if it had come in with the packet.
void Switch::hold_up_source(Instant now, uint32_t port, uint32_t index) {
    const Transit cause = cabling_.store[index];
    const BackPressureSettings& settings = back_pressure_.settings();
    const wire::Packet& packet = cabling_.store.packet(index);
    const uint32_t source = packet.source;
    if ((cause.flags & Transit::kData) == 0 || source >= kGroupBit) return;
    // In a lossless lane, the neighbour would be paused for what it did not send.
    if ((ports_[cause.in_port].lossless & bit_of(settings.lane)) != 0) return;
    const auto sharers =
        back_pressure_.note(now, static_cast<uint16_t>(port), source, ports_[port].queued_bytes);
    if (!sharers) return;
    wire::Packet word;
    word.kind = wire::PacketKind::back_pressure;
    word.source = packet.destination;
    word.destination = source;
    word.extended.send = {{}, {}, *sharers};
    const uint32_t copy = cabling_.store.take();
    cabling_.store.packet(copy) = word;
    Transit& transit = cabling_.store[copy];
    transit = {};
    transit.at = now;
    transit.destination = source;
    transit.flow = cause.flow;
    transit.wire_bytes = static_cast<uint16_t>(settings.frame_bytes + settings_.link.gap_bytes);
    transit.in_port = cause.in_port;
    transit.lane = transit.in_lane = settings.lane;
    ++cabling_.counters(global(port)).words;
    enqueue_copy(now, cause.in_port, copy, kNoPort);
}

void Switch::drop_arriving(Instant now, uint32_t port, uint32_t index, Drop cause) {
    const Transit transit = cabling_.store[index];
    cabling_.drop(now, global(port), index, cause);
    if (spends_credits(transit)) release(now, transit.in_port, transit.in_lane, transit.wire_bytes);
}

void Switch::drop_stored(Instant now, uint32_t port, uint32_t index, Drop cause) {
    const Transit transit = cabling_.store[index];
    sample(TraceSample::Kind::drop, now, port, transit.lane, 1);
    cabling_.drop(now, global(port), index, cause);
    release(now, transit.in_port, transit.in_lane, transit.wire_bytes);
}

void Switch::drop_first(Instant now, uint16_t port, uint32_t lane, Drop cause) {
    drop_stored(now, port, take_first(now, port, lane), cause);
}

void Switch::drop_lane(Instant now, uint16_t port, uint32_t lane, Drop cause) {
    while (out(port, lane).bytes != 0) drop_first(now, port, lane, cause);
}

// Lines.

void Switch::start_idle(Instant now, uint32_t port) {
    if (has_credits_)
        use_line<true>(now, port);
    else
        use_line<false>(now, port);
}

template <bool kCredits>
void Switch::use_line(Instant now, uint32_t port) {
    const uint32_t lane = lane_to_send(now, port);
    if (lane == kNoLane) return;
    Port& to = ports_[port];
    const uint32_t index = take_first(now, port, lane);
    const Transit& transit = cabling_.store[index];
    const uint16_t in = transit.in_port;
    const uint8_t in_lane = transit.in_lane;
    const uint32_t bytes = transit.wire_bytes;
    send(now, port, index);
    if (kCredits) {
        to.sending_bytes = bytes;
        to.sending_in_port = in;
        to.sending_in_lane = in_lane;
    } else if (in < plan_.port_count) [[likely]] {
        intake_.release_bytes(now, input(in, in_lane), bytes);
        if (ports_[in].owed.any()) start(now, in);
    } else {
        release_shared(now, in, in_lane, bytes);
    }
    await_next(port);
}

// The lane whose first packet is sent now. kNoLane: something else was sent, or nothing may be.
uint32_t Switch::lane_to_send(Instant now, uint32_t port) {
    Port& to = ports_[port];
    const auto eligible = static_cast<uint32_t>(to.filled & ~to.held);
    if (!to.lets_through || to.owed.any() || is_several(eligible)) [[unlikely]]
        return lane_with_care(now, port, eligible);
    return eligible == 0 ? kNoLane : static_cast<uint32_t>(std::countr_zero(eligible));
}

uint32_t Switch::lane_with_care(Instant now, uint32_t port, uint32_t eligible) {
    Port& to = ports_[port];
    if (!to.is_up) return kNoLane;
    if (to.owed.any()) {
        to.busy_until = cabling_.transmit_owed(global(port), now);
        to.is_awaited = false;
        await_next(port);
        return kNoLane;
    }
    if (eligible == 0) return kNoLane;
    const bool has_choice = has_credits_ || is_several(eligible);
    const uint32_t lane =
        has_choice ? pick(now, port) : static_cast<uint32_t>(std::countr_zero(eligible));
    if (lane == kNoLane || !cuts_through_) return lane;
    const Transit& first = cabling_.store[out(port, lane).queue.head];
    return must_wait_for_tail(now, port, first) ? kNoLane : lane;
}

void Switch::send(Instant now, uint32_t port, uint32_t index) {
    if (marks_at_dequeue_) mark(now, port, index);
    ports_[port].busy_until = cabling_.transmit(ports_[port], index, now);
}

// Chooses among the lanes with packets. Lanes without credits for their first packet are held.
uint32_t Switch::pick(Instant now, uint32_t port) {
    Port& to = ports_[port];
    auto eligible = static_cast<uint16_t>(to.filled & ~to.held);
    std::array<uint16_t, kLanes> head_bytes;
    for (uint16_t lanes = eligible; lanes != 0; lanes &= static_cast<uint16_t>(lanes - 1)) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(lanes));
        const LaneOut& waiting = out(port, lane);
        head_bytes[lane] = cabling_.store[waiting.queue.head].wire_bytes;
        if (!has_credits_ || lane == kManagementLane ||
            waiting.credits.allow(cabling_.credit_scale().blocks_of(head_bytes[lane]),
                                  cabling_.credit_scale()))
            continue;
        eligible = static_cast<uint16_t>(eligible & ~bit_of(lane));
        cabling_.hold(global(port), lane, now);
        sample(TraceSample::Kind::pause_begin, now, port, lane, 0);
        if (uses_lifetime_)
            add_timer(NodeTimer::Kind::head_of_queue,
                      std::max(now, wait(port, lane).head_since +
                                        settings_.credits.head_of_queue_lifetime),
                      port, lane);
    }
    if (eligible == 0) return kNoLane;
    if (!is_several(eligible)) return static_cast<uint32_t>(std::countr_zero(eligible));
    if (settings_.arbitration == Arbitration::vl_tables)
        return pick_vl(settings_.vl_arbitration, rounds_[port], eligible, head_bytes);
    const EtsSettings& ets = plan_.port_ets.empty() ? plan_.ets : plan_.port_ets[port];
    return pick_ets(ets, to, std::span(&wait(port, 0), lanes_), eligible, head_bytes);
}

uint32_t Switch::take_first(Instant now, uint32_t port, uint32_t lane) {
    Port& to = ports_[port];
    LaneOut& from = out(port, lane);
    const uint32_t index = from.queue.pop(cabling_.store);
    const uint32_t bytes = cabling_.store[index].wire_bytes;
    from.bytes -= bytes;
    to.queued_bytes -= bytes;
    if (watches_heads_) watch_head(now, port, lane);
    if (from.bytes != 0) return index;
    to.filled = static_cast<uint16_t>(to.filled & ~bit_of(lane));
    sample(TraceSample::Kind::queue_bytes, now, port, lane, 0);
    if ((to.held & bit_of(lane)) != 0)
        wait(port, lane).held_ps += static_cast<uint64_t>((now - wait(port, lane).held_since).ps);
    return index;
}

// Cut-through to a faster line: the line would run dry if it began before enough has arrived.
bool Switch::must_wait_for_tail(Instant now, uint32_t port, const Transit& transit) {
    const Instant tail = transit.at + Duration{transit.tail_ps};
    const Duration takes = cabling_.line_time(global(port), transit.wire_bytes);
    if (tail <= now + takes) return false;
    ports_[port].is_awaited = true;
    lines_.set_near(port, tail - takes);
    return true;
}

}  // namespace tulle::fabric
