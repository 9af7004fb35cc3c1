#include "fabric/switch.h"

#include <algorithm>

namespace tulle::fabric {
namespace {

constexpr uint8_t kMaxHops = 64;
constexpr uint32_t kSwitchStream = 1;

std::optional<Drop> flaw_of(const Port& from, const Transit& transit) {
    if (!from.is_up) return Drop::link_down;
    if ((transit.flags & Transit::kCorrupt) != 0) return Drop::corrupted;
    if (transit.hops > kMaxHops) return Drop::hop_limit;
    return std::nullopt;
}

}  // namespace

Switch::Switch(const Settings& settings, Cabling& cabling, SwitchPlan plan)
    : packets_(plan.port_count),
      rare_(plan.port_count),
      random_({plan.seed, kSwitchStream, plan.node}),
      ways_(settings, cabling, plan, random_.next()),
      lines_(settings, cabling, plan, rare_, ways_.warnings(), random_),
      back_pressure_(settings.back_pressure, plan.port_count),
      guard_(plan.tenancy, std::move(plan.hosts)),
      groups_(plan.groups),
      changes_(std::move(plan.changes)),
      node_(plan.node),
      watches_queues_(lines_.marker().is_at_enqueue() || back_pressure_.is_used() ||
                      ways_.warnings().is_used()) {
    if (!changes_.empty()) rare_.set_change(changes_.front().at);
}

void Switch::begin() {
    ports().begin();
    ways_.begin(ports().first());
    if (groups_ != nullptr) reductions_ = Reductions(*groups_);
}

void Switch::prefetch(uint32_t depth) const {
    switch (depth) {
        case 1:
            lines_.prefetch();
            packets_.prefetch();
            return rare_.prefetch();
        case 2: return lines_.ports().prefetch_first();
        case 3: return lines_.ports().prefetch_second();
        default: break;
    }
}

Instant Switch::advance(Instant until) {
    return cabling().has_credits() ? act<true>(until) : act<false>(until);
}

template <bool kCredits>
Instant Switch::act(Instant until) {
    cabling().take_fresh(ports().first(), ports().count(), [&](uint32_t p) {
        const auto port = static_cast<uint16_t>(p - ports().first());
        const Cabling::Inbound& inbound = ports().inbound(port);
        if (!inbound.packets.empty()) packets_.set(port, cabling().store[inbound.packets.head].at);
        if (!inbound.control.empty())
            rare_.set_control(port, cabling().store[inbound.control.head].at);
    });
    rare_.set_end(until);
    for (;; ++events_) {
        // At one instant, rare events come first, then packets, then lines; each by port.
        const uint64_t packet = packets_.first_key();
        const uint64_t line = lines_.first_key();
        const bool is_packet = packet <= TimeTree::end_of_instant(line);
        const uint64_t usual = is_packet ? packet : line;
        if (rare_.first_key() <= TimeTree::end_of_instant(usual)) [[unlikely]] {
            if (rare_.ends_first()) break;
            on_rare(rare_.first_at());
        } else if (is_packet) {
            on_packet<kCredits>(TimeTree::instant_of(packet), TimeTree::source_of(packet));
        } else {
            lines_.on_free<kCredits>(TimeTree::instant_of(line), TimeTree::source_of(line));
        }
    }
    return std::min({packets_.first_at(), lines_.first_at(), rare_.first_at()});
}

template <bool kCredits>
void Switch::on_packet(Instant now, uint32_t in) {
    Fifo& coming = ports().inbound(in).packets;
    const uint32_t index = coming.head;
    Transit& transit = cabling().store[index];
    coming.head = transit.next;
    uint64_t next = TimeTree::kNever;
    if (!coming.empty()) {
        const Transit& following = cabling().store[coming.head];
        cabling().store.prefetch(following.next);
        next = TimeTree::near_key_of(following.at, in);
    }
    packets_.set_key(in, next);

    const Port& from = ports()[in];
    transit.in_port = static_cast<uint16_t>(in);
    transit.in_lane = transit.lane;
    const bool spends = kCredits && ports().spends_credits(transit);
    if (spends) intake().receive(transit.in_port, transit.lane, transit.wire_bytes);
    ++transit.hops;
    const bool is_odd =
        from.is_odd || transit.hops > kMaxHops || transit.destination >= kGroupBit ||
        (transit.flags & (Transit::kCorrupt | Transit::kFixedPath | Transit::kWatched)) != 0;
    if (is_odd) [[unlikely]]
        return on_odd_packet(now, in, index);
    uint16_t to = 0;
    if (!ways_.choose(now, transit, index, to))
        return drop_arriving(now, in, index, Drop::no_route);
    forward<false>(now, in, to, index, spends);
}

void Switch::on_odd_packet(Instant now, uint32_t in, uint32_t index) {
    const Port& from = ports()[in];
    Transit& transit = cabling().store[index];
    const wire::Packet& packet = cabling().store.packet(index);
    if (const auto flaw = flaw_of(from, transit)) return drop_arriving(now, in, index, *flaw);
    if (from.is_guarded && guard_.refuses_from(in, packet)) return refuse(now, in, index, true);
    if (from.is_behind_dateline && transit.lane == 0) transit.lane = 1;
    if (from.raises_lane && transit.lane + 1u < std::min(ports().lanes(), kManagementLane))
        ++transit.lane;
    uint16_t to = kNoPort;
    if (transit.destination >= kGroupBit &&
        !leaves_group(now, static_cast<uint16_t>(in), index, to))
        return;
    if (to == kNoPort) to = ways_.choose_for_any(now, from, index);
    if (to == kNoPort) return drop_arriving(now, in, index, Drop::no_route);
    if (from.is_guarded && guard_.refuses_to(to, packet)) return refuse(now, to, index, false);
    if (from.maps_lanes && transit.lane != kManagementLane)
        transit.lane = ways_.mapped_lane(in, to, index);
    forward<true>(now, in, to, index, ports().spends_credits(transit));
}

template <bool kIsOdd>
void Switch::forward(Instant now, uint32_t in, uint32_t to, uint32_t index, bool spends) {
    const Port& from = ports()[in];
    const Transit& transit = cabling().store[index];
    if (SwitchPorts::lets_through(ports()[to], now)) return lines_.send(now, to, index);
    if (!ports()[to].is_up) return drop_arriving(now, to, index, Drop::link_down);
    if (spends) {
        intake().watch_credits(now, static_cast<uint16_t>(in), transit.in_lane, to);
        if (from.owed.any()) lines_.start(now, in);
    } else if (!admit(now, in, to, index)) {
        const bool lossless = (from.lossless & bit_of(transit.in_lane)) != 0;
        ports().sample(TraceSample::Kind::drop, now, to, transit.lane, 1);
        return cabling().drop(now, ports().global(to), index,
                              lossless ? Drop::headroom_full : Drop::buffer_full);
    }
    if constexpr (kIsOdd) ports().note_arrival(now, to, index);
    enqueue(now, to, index);
}

bool Switch::admit(Instant now, uint32_t in, uint32_t to, uint32_t index) {
    const Port& from = ports()[in];
    const Transit& transit = cabling().store[index];
    if ((from.lossless & bit_of(transit.in_lane)) == 0)
        return lines_.storage().admit_lossy(to, index);
    if (!intake().admit(now, ports().input(in, transit.in_lane), transit.wire_bytes, to))
        return false;
    if (from.owed.pause != 0) [[unlikely]] {
        rare_.arm();
        lines_.start(now, in);
    }
    return true;
}

void Switch::enqueue(Instant now, uint32_t port, uint32_t index) {
    const Transit* transit = &cabling().store[index];
    if ((ports()[port].storming & bit_of(transit->lane)) != 0 &&
        now < ports().wait(port, transit->lane).storm_until) [[unlikely]]
        return lines_.drop_stored(now, port, index, Drop::watchdog);
    if (watches_queues_) {
        watch_queue(now, port, index);
        transit = &cabling().store[index];  // it may have moved
    }
    lines_.enqueue(now, port, index, *transit);
}

// A packet is about to enter a queue.
void Switch::watch_queue(Instant now, uint32_t port, uint32_t index) {
    if (lines_.marker().is_at_enqueue()) lines_.marker().mark(now, port, index);
    if (back_pressure_.is_used() && ports()[port].leads_to_host) hold_up_source(now, port, index);
    if (ways_.warnings().is_used())
        lines_.watch(now, port, ports()[port].queued_bytes + cabling().store[index].wire_bytes);
}

// Tells a source that fills the port of a host how many share it. The message is routed like any
// packet, in a lane that may lose it, and is stored as if it had come in with the packet.
void Switch::hold_up_source(Instant now, uint32_t port, uint32_t index) {
    const Transit cause = cabling().store[index];
    const BackPressureSettings& settings = back_pressure_.settings();
    const wire::Packet& packet = cabling().store.packet(index);
    const uint32_t source = packet.source;
    if ((cause.flags & Transit::kData) == 0 || source >= kGroupBit) return;
    // In a lossless lane, the neighbour would be paused for what it did not send.
    if ((ports()[cause.in_port].lossless & bit_of(settings.lane)) != 0) return;
    const auto sharers =
        back_pressure_.note(now, static_cast<uint16_t>(port), source, ports()[port].queued_bytes);
    if (!sharers) return;
    wire::Packet word;
    word.kind = wire::PacketKind::back_pressure;
    word.source = packet.destination;
    word.destination = source;
    word.extended.send = {{}, {}, *sharers};
    const uint32_t copy = cabling().store.take();
    cabling().store.packet(copy) = word;
    Transit& transit = cabling().store[copy];
    transit = {};
    transit.at = now;
    transit.destination = source;
    transit.flow = cause.flow;
    transit.wire_bytes =
        static_cast<uint16_t>(settings.frame_bytes + ports().settings.link.gap_bytes);
    transit.in_port = cause.in_port;
    transit.lane = transit.in_lane = settings.lane;
    ++ports().counters(port).words;
    enqueue_copy(now, cause.in_port, copy, kNoPort);
}

void Switch::drop_arriving(Instant now, uint32_t port, uint32_t index, Drop cause) {
    const Transit transit = cabling().store[index];
    cabling().drop(now, ports().global(port), index, cause);
    if (ports().spends_credits(transit))
        lines_.release(now, transit.in_port, transit.in_lane, transit.wire_bytes);
}

void Switch::refuse(Instant now, uint32_t port, uint32_t index, bool as_sent) {
    const wire::Packet& packet = cabling().store.packet(index);
    ++cabling().refused[{.port = ports().global(port),
                         .source = packet.source,
                         .destination = packet.destination,
                         .as_sent = as_sent}];
    drop_arriving(now, port, index, Drop::other_tenant);
}

// Groups.

bool Switch::leaves_group(Instant now, uint16_t in, uint32_t index, uint16_t& to) {
    const uint32_t number = cabling().store[index].destination & ~kGroupBit;
    const Group* group =
        groups_ != nullptr && number < groups_->size() ? &(*groups_)[number] : nullptr;
    if (group != nullptr && group->is_reduction()) {
        if (!completes(now, in, index, *group, number)) return false;
        if (group->members.size() == 1) {
            readdress(cabling().store[index], cabling().store.packet(index), *group, number,
                      group->members.front());
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
        reductions_.completes(group, number, cabling().store.packet(index));
    if (!is_last) {
        drop_arriving(now, in, index, Drop::no_route);
        return false;
    }
    if (*is_last) return true;
    const Transit transit = cabling().store[index];
    ++ports().counters(in).reduced;
    cabling().store.give_back(index);
    if (ports().spends_credits(transit))
        lines_.release(now, in, transit.in_lane, transit.wire_bytes);
    return false;
}

// In lossless traffic the packet is in the input's buffer once, as its sender expects, until the
// last copy has left. Elsewhere each copy needs room of its own.
void Switch::replicate(Instant now, uint16_t in, uint32_t index, const Group& group,
                       uint32_t number) {
    Transit original = cabling().store[index];
    const wire::Packet packet = cabling().store.packet(index);
    const bool spends = ports().spends_credits(original);
    const uint16_t first = group.members.front().port;
    const uint16_t to = first == Group::kByRoute ? in : first;
    if (spends || (ports()[in].lossless & bit_of(original.in_lane)) != 0) {
        if (!spends && !admit(now, in, to, index))
            return cabling().drop(now, ports().global(in), index, Drop::headroom_full);
        original.in_port = lines_.storage().share(in, group.members.size());
    }
    ports().counters(in).replicated += group.members.size() - 1;
    for (const Group::Member& member : group.members) {
        // The packet itself goes last, because its account must be copied before it is sent.
        const uint32_t copy = &member == &group.members.back() ? index : cabling().store.take();
        cabling().store[copy] = original;
        cabling().store.packet(copy) = packet;
        if (cabling().journal != nullptr)
            cabling().journal->copy(index, copy, (original.flags & Transit::kWatched) != 0);
        if (cabling().telemetry) cabling().telemetry->copy(index, copy);
        readdress(cabling().store[copy], cabling().store.packet(copy), group, number, member);
        enqueue_copy(now, in, copy, member.port);
    }
    if (spends) intake().watch_credits(now, in, original.in_lane, to);
    if (ports()[in].owed.any()) lines_.start(now, in);
}

void Switch::enqueue_copy(Instant now, uint16_t in, uint32_t index, uint16_t to) {
    const Transit& transit = cabling().store[index];
    const bool is_stored = lines_.storage().is_copy(transit.in_port);
    const bool has_way =
        (to != kNoPort || ways_.choose(now, transit, index, to)) && ports()[to].is_up;
    if (has_way && (is_stored || lines_.storage().admit_lossy(to, index))) {
        ports().note_arrival(now, to, index);
        return enqueue(now, to, index);
    }
    const uint16_t at = to == kNoPort ? in : to;
    const Drop cause = to == kNoPort ? Drop::no_route
                       : has_way     ? Drop::buffer_full
                                     : Drop::link_down;
    if (is_stored) return lines_.drop_stored(now, at, index, cause);
    cabling().drop(now, ports().global(at), index, cause);
}

// Rare events.

void Switch::on_rare(Instant now) {
    switch (rare_.first_kind()) {
        case RareEvents::Kind::control: return on_control(now, rare_.first_port());
        case RareEvents::Kind::timer: return on_timer(now);
        case RareEvents::Kind::change: return on_change(now);
    }
}

void Switch::on_control(Instant now, uint16_t port) {
    const Cabling::ControlEffect effect = cabling().on_control(ports().global(port), now);
    if (effect.warning) ways_.warnings().hear(port, *effect.warning);
    const Fifo& control = ports().inbound(port).control;
    rare_.set_control(port, control.empty() ? Instant::never() : cabling().store[control.head].at);
    for (uint16_t lanes = effect.paused; lanes != 0; lanes &= static_cast<uint16_t>(lanes - 1))
        lines_.holds().on_paused(now, port, static_cast<uint32_t>(std::countr_zero(lanes)),
                                 effect.until);
    for (uint16_t lanes = effect.opened & ports()[port].held; lanes != 0;
         lanes &= static_cast<uint16_t>(lanes - 1))
        lines_.holds().on_opened(now, port, static_cast<uint32_t>(std::countr_zero(lanes)));
    lines_.start(now, port);
}

void Switch::on_timer(Instant now) {
    const NodeTimer timer = rare_.timers.pop();
    if (timer.kind == NodeTimer::Kind::pause_again) {
        intake().on_pause_again(now, timer.port, timer.lane);
        lines_.start(now, timer.port);
    } else {
        lines_.on_timer(now, timer);
    }
    rare_.arm();
}

void Switch::on_change(Instant now) {
    const NodeChange change = changes_[next_change_++];
    rare_.set_change(next_change_ < changes_.size() ? changes_[next_change_].at : Instant::never());
    switch (change.kind) {
        case NodeChange::Kind::routes: return ways_.take(*change.routes);
        case NodeChange::Kind::entries: return ways_.write(change.entries);
        case NodeChange::Kind::lanes: return ways_.map_lanes(change.lanes);
        case NodeChange::Kind::management:
            cabling().send_management(ports().global(change.port), change.bytes, now);
            if (ports()[change.port].is_awaited) lines_.await(change.port);  // falls free later
            return;
        case NodeChange::Kind::port_down: return on_link(now, change.port, false);
        case NodeChange::Kind::port_up: return on_link(now, change.port, true);
    }
}

void Switch::on_link(Instant now, uint16_t number, bool is_up) {
    Port& port = ports()[number];
    port.is_up = is_up;
    ports().settle(port);
    for (uint32_t lane = 0; lane < ports().lanes(); ++lane) {
        if (!is_up) lines_.drop_lane(now, number, lane, Drop::link_down);
        lines_.holds().let_go(now, number, lane);
    }
    if (!is_up) return ways_.warnings().forget(number);
    intake().tell_all(number);
    if (!port.leads_to_host)
        ways_.warnings().for_each_full([&](Warning full) {
            if (full.port != number) cabling().warn(ports().global(number), full);
        });
    lines_.start(now, number);
}

void Switch::finish(Instant now) {
    intake().finish(now);
    lines_.holds().finish(now);
}

}  // namespace tulle::fabric
