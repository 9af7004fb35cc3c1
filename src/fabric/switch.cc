#include "fabric/switch.h"

#include "base/hash.h"
#include "fabric/marking.h"

namespace tulle::fabric {
namespace {

constexpr uint8_t kMaxHops = 64;
constexpr size_t kFlowlets = 1024;  // places of the flowlet table, as switch chips have them
constexpr uint32_t kSwitchStream = 1;
constexpr uint32_t kTrimmedBytes = 84;  // headers and gap

constexpr uint16_t bit_of(uint32_t lane) {
    return static_cast<uint16_t>(1u << lane);
}

// The high bits of a product instead of a division.
size_t scale(uint64_t hash, size_t count) {
    return static_cast<size_t>((hash >> 32) * count >> 32);
}

}  // namespace

Switch::Switch(const Settings& settings, Cabling& cabling, SwitchPlan plan)
    : settings_(settings),
      cabling_(cabling),
      plan_(std::move(plan)),
      tree_(plan_.port_count * kPerPort + 2u),
      intake_(settings, cabling, timers_, plan_.first_port, settings.node.buffer_bytes),
      random_({plan_.seed, kSwitchStream, plan_.node}),
      hash_seed_(random_.next()) {
    if (settings.arbitration == Arbitration::vl_tables) rounds_.resize(plan_.port_count);
    if (settings.route.choice == PathChoice::flowlet) flowlets_.resize(kFlowlets);
    if (!plan_.changes.empty()) tree_.set(change_source(), plan_.changes.front().at);
}

Instant Switch::advance(Instant until) {
    cabling_.take_fresh(plan_.first_port, plan_.port_count, [&](uint32_t p) {
        const Cabling::Inbound& inbound = cabling_.inbound(p);
        const auto port = static_cast<uint16_t>(p - plan_.first_port);
        if (!inbound.packets.empty()) set(port, kPackets, cabling_.store[inbound.packets.head].at);
        if (!inbound.control.empty()) set(port, kControl, cabling_.store[inbound.control.head].at);
    });
    for (;; ++events_) {
        const Instant now = tree_.first_at();
        if (now >= until) return now;
        const uint32_t source = tree_.first_source();
        if (source >= timer_source()) {
            source == timer_source() ? on_timer(now) : on_change(now);
            continue;
        }
        const auto port = static_cast<uint16_t>(source / kPerPort);
        switch (source % kPerPort) {
            case kControl: on_control(now, port); break;
            case kPackets: on_packet(now, port); break;
            case kLine: on_line_free(now, port); break;
        }
    }
}

void Switch::on_packet(Instant now, uint16_t in) {
    Cabling::Inbound& inbound = cabling_.inbound(global(in));
    const uint32_t index = inbound.packets.pop(cabling_.store);
    set(in, kPackets,
        inbound.packets.empty() ? Instant::never() : cabling_.store[inbound.packets.head].at);

    const Port& from = cabling_.port(global(in));
    Transit& transit = cabling_.store[index];
    transit.in_port = in;
    transit.in_lane = transit.lane;
    const bool has_credits =
        settings_.flow_control == FlowControl::credits && transit.lane != kManagementLane;
    if (has_credits) intake_.receive(in, transit.lane, transit.wire_bytes);

    if (!from.is_up) return drop_arriving(now, in, index, Drop::link_down);
    if ((transit.flags & Transit::kCorrupt) != 0)
        return drop_arriving(now, in, index, Drop::corrupted);
    if (++transit.hops > kMaxHops) return drop_arriving(now, in, index, Drop::hop_limit);
    const uint16_t out = choose(now, transit);
    if (out == kNoPort) return drop_arriving(now, in, index, Drop::no_route);
    if (!cabling_.port(global(out)).is_up) return drop_arriving(now, out, index, Drop::link_down);

    if (from.is_behind_dateline && transit.lane == 0) transit.lane = 1;
    if (has_credits) {
        intake_.watch_credits(now, in, transit.in_lane, out);
    } else if (!admit(now, in, out, transit)) {
        const bool lossless = (from.lossless & bit_of(transit.in_lane)) != 0;
        sample(TraceSample::Kind::drop, now, out, transit.lane, 1);
        return cabling_.drop(global(out), index,
                             lossless ? Drop::headroom_full : Drop::buffer_full);
    }
    enqueue(now, out, index);
}

void Switch::on_control(Instant now, uint16_t port) {
    const Cabling::ControlEffect effect = cabling_.on_control(global(port), now);
    const Fifo& control = cabling_.inbound(global(port)).control;
    set(port, kControl, control.empty() ? Instant::never() : cabling_.store[control.head].at);
    for (uint16_t lanes = effect.paused; lanes != 0; lanes &= static_cast<uint16_t>(lanes - 1))
        on_paused(now, port, static_cast<uint32_t>(std::countr_zero(lanes)), effect.until);
    for (uint16_t lanes = effect.opened; lanes != 0; lanes &= static_cast<uint16_t>(lanes - 1)) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(lanes));
        if ((cabling_.port(global(port)).held & bit_of(lane)) == 0) continue;
        cabling_.out(global(port), lane).pause_until = now;
        cabling_.let_go(global(port), lane, now);
        sample(TraceSample::Kind::pause_end, now, port, lane, 0);
    }
    start(now, port);
}

void Switch::on_line_free(Instant now, uint16_t port) {
    Port& to = cabling_.port(global(port));
    to.is_sending = false;
    if (const uint32_t bytes = to.sending_bytes; bytes != 0) {
        to.sending_bytes = 0;
        release(now, to.sending_in_port, to.sending_in_lane, bytes);
    }
    if (!start(now, port)) set(port, kLine, Instant::never());
}

// Where to.

uint16_t Switch::choose(Instant now, const Transit& transit) {
    if ((transit.flags & Transit::kFixedPath) != 0) {
        const auto& path = (*plan_.paths)[transit.flow];
        return transit.hops <= path.size() ? path[transit.hops - 1u] : kNoPort;
    }
    const std::span<const uint16_t> ports = plan_.routes->ports(plan_.node, transit.destination);
    if (ports.size() <= 1) return ports.empty() ? kNoPort : ports[0];
    switch (settings_.route.choice) {
        case PathChoice::ecmp:
            return ports[scale(base::mix64(transit.flow ^ hash_seed_), ports.size())];
        case PathChoice::adaptive:
            return choose_shortest(ports, base::mix64(++sprayed_ ^ hash_seed_));
        case PathChoice::flowlet:
            return choose_flowlet(now, ports, base::mix64(transit.flow ^ hash_seed_));
        case PathChoice::spray: return ports[sprayed_++ % ports.size()];
    }
    return kNoPort;
}

// The search begins at a place that changes, so that empty queues are used in turn.
uint16_t Switch::choose_shortest(std::span<const uint16_t> ports, uint64_t hash) {
    const size_t first = scale(hash, ports.size());
    uint16_t best = ports[first];
    uint64_t shortest = UINT64_MAX;
    for (size_t i = 0; i < ports.size(); ++i) {
        const uint16_t port = ports[(first + i) % ports.size()];
        const Port& candidate = cabling_.port(global(port));
        if (!candidate.is_up) continue;
        const uint64_t waits = candidate.queued_bytes + candidate.sending_bytes;
        if (waits >= shortest) continue;
        shortest = waits;
        best = port;
    }
    return best;
}

uint16_t Switch::choose_flowlet(Instant now, std::span<const uint16_t> ports, uint64_t hash) {
    Flowlet& flowlet = flowlets_[hash % kFlowlets];
    const bool goes_on = flowlet.last.ps != 0 && now - flowlet.last <= settings_.route.flowlet_gap &&
                         std::ranges::find(ports, flowlet.port) != ports.end();
    if (!goes_on) flowlet.port = choose_shortest(ports, base::mix64(++sprayed_ ^ hash_seed_));
    flowlet.last = now;
    return flowlet.port;
}

// Storage.

bool Switch::admit(Instant now, uint16_t in, uint16_t out, Transit& transit) {
    const Port& from = cabling_.port(global(in));
    if ((from.lossless & bit_of(transit.in_lane)) == 0) return admit_lossy(out, transit);
    if (!intake_.admit(now, in, transit.in_lane, transit.wire_bytes, out)) return false;
    if (from.owed_pause != 0) {
        heed_timers();
        start(now, in);
    }
    return true;
}

bool Switch::admit_lossy(uint16_t out, Transit& transit) {
    if (intake_.admit_lossy(cabling_.out(global(out), transit.lane).bytes, transit.wire_bytes))
        return true;
    if (settings_.overflow != Overflow::trim || (transit.flags & Transit::kData) == 0) return false;
    const uint8_t lane = settings_.qos.trimmed_lane;
    if (!intake_.admit_lossy(cabling_.out(global(out), lane).bytes, kTrimmedBytes)) return false;
    transit.lane = lane;
    transit.wire_bytes = kTrimmedBytes;
    transit.flags |= Transit::kTrimmed;
    ++cabling_.counters(global(out)).trimmed;
    return true;
}

void Switch::release(Instant now, uint16_t in, uint8_t lane, uint32_t bytes) {
    intake_.release(now, in, lane, bytes);
    if (cabling_.owes(cabling_.port(global(in)))) start(now, in);
}

// Queues.

void Switch::enqueue(Instant now, uint16_t out, uint32_t index) {
    Transit& transit = cabling_.store[index];
    Port& to = cabling_.port(global(out));
    LaneOut& lane = cabling_.out(global(out), transit.lane);
    if (now < lane.storm_until) return drop_stored(now, out, index, Drop::watchdog);
    if (lane.bytes == 0) lane.held_since = lane.head_since = now;
    if (!(settings_.marking == Marking::ecn && settings_.ecn.at_dequeue)) mark(out, lane, transit);
    lane.queue.push(cabling_.store, index);
    lane.bytes += transit.wire_bytes;
    to.queued_bytes += transit.wire_bytes;
    to.peak_queue_bytes = std::max(to.peak_queue_bytes, to.queued_bytes);
    to.filled |= bit_of(transit.lane);
    sample(TraceSample::Kind::queue_bytes, now, out, transit.lane, lane.bytes);
    start(now, out);
}

void Switch::mark(uint16_t out, LaneOut& lane, Transit& transit) {
    bool marks = false;
    switch (settings_.marking) {
        case Marking::none: return;
        case Marking::ecn:
            marks = (transit.flags & Transit::kEcnCapable) != 0 &&
                    ecn_marks(settings_.ecn, lane.bytes, random_);
            break;
        case Marking::fecn:
            marks = (transit.flags & Transit::kData) != 0 &&
                    fecn_marks(settings_.fecn, lane,
                               (cabling_.port(global(out)).held & bit_of(transit.lane)) != 0,
                               transit.wire_bytes);
            break;
    }
    if (!marks || (transit.flags & Transit::kMarked) != 0) return;
    transit.flags |= Transit::kMarked;
    ++cabling_.counters(global(out)).marked;
}

void Switch::drop_arriving(Instant now, uint16_t port, uint32_t index, Drop cause) {
    const Transit transit = cabling_.store[index];
    cabling_.drop(global(port), index, cause);
    if (settings_.flow_control == FlowControl::credits)
        release(now, transit.in_port, transit.in_lane, transit.wire_bytes);
}

void Switch::drop_stored(Instant now, uint16_t port, uint32_t index, Drop cause) {
    const Transit transit = cabling_.store[index];
    sample(TraceSample::Kind::drop, now, port, transit.lane, 1);
    cabling_.drop(global(port), index, cause);
    release(now, transit.in_port, transit.in_lane, transit.wire_bytes);
}

void Switch::drop_lane(Instant now, uint16_t port, uint32_t lane, Drop cause) {
    while (cabling_.out(global(port), lane).bytes != 0)
        drop_stored(now, port, take_first(now, port, lane), cause);
}

// Lines.

bool Switch::start(Instant now, uint16_t port) {
    Port& to = cabling_.port(global(port));
    if (to.is_sending) return true;
    if (!to.is_up) return false;
    Instant end{};
    if (cabling_.owes(to)) {
        end = cabling_.transmit_owed(global(port), now);
    } else {
        if ((to.filled & ~to.held) == 0) return false;
        const uint32_t lane = pick(now, port);
        if (lane == kNoLane) return false;
        if (must_wait_for_tail(now, port, lane)) return true;
        const uint32_t index = take_first(now, port, lane);
        Transit& transit = cabling_.store[index];
        if (settings_.marking == Marking::ecn && settings_.ecn.at_dequeue)
            mark(port, cabling_.out(global(port), lane), transit);
        to.sending_bytes = transit.wire_bytes;
        to.sending_in_port = transit.in_port;
        to.sending_in_lane = transit.in_lane;
        end = cabling_.transmit(global(port), index, now);
    }
    to.is_sending = true;
    set(port, kLine, end);
    return true;
}

uint32_t Switch::pick(Instant now, uint16_t port) {
    Port& to = cabling_.port(global(port));
    auto eligible = static_cast<uint16_t>(to.filled & ~to.held);
    std::array<uint16_t, kLanes> head_bytes;
    for (uint16_t lanes = eligible; lanes != 0; lanes &= static_cast<uint16_t>(lanes - 1)) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(lanes));
        if (std::has_single_bit(eligible) && settings_.flow_control != FlowControl::credits)
            return lane;
        head_bytes[lane] = cabling_.store[cabling_.out(global(port), lane).queue.head].wire_bytes;
        if (settings_.flow_control != FlowControl::credits || lane == kManagementLane ||
            cabling_.has_credits(global(port), lane, head_bytes[lane]))
            continue;
        eligible = static_cast<uint16_t>(eligible & ~bit_of(lane));
        cabling_.hold(global(port), lane, now);
        sample(TraceSample::Kind::pause_begin, now, port, lane, 0);
        if (const Duration life = settings_.credits.head_of_queue_lifetime; life.ps != 0)
            add_timer(NodeTimer::Kind::head_of_queue,
                      cabling_.out(global(port), lane).head_since + life, port, lane);
    }
    if (eligible == 0) return kNoLane;
    if (std::has_single_bit(eligible)) return static_cast<uint32_t>(std::countr_zero(eligible));
    if (settings_.arbitration == Arbitration::vl_tables)
        return pick_vl(settings_.vl_arbitration, rounds_[port], eligible, head_bytes);
    const std::span lanes(&cabling_.out(global(port), 0), cabling_.lanes());
    return pick_ets(plan_.ets, to, lanes, eligible, head_bytes);
}

uint32_t Switch::take_first(Instant now, uint16_t port, uint32_t lane) {
    Port& to = cabling_.port(global(port));
    LaneOut& out = cabling_.out(global(port), lane);
    const uint32_t index = out.queue.pop(cabling_.store);
    const uint32_t bytes = cabling_.store[index].wire_bytes;
    out.bytes -= bytes;
    out.head_since = now;
    to.queued_bytes -= bytes;
    if (out.bytes == 0) {
        to.filled = static_cast<uint16_t>(to.filled & ~bit_of(lane));
        if ((to.held & bit_of(lane)) != 0)
            out.held_ps += static_cast<uint64_t>((now - out.held_since).ps);
    }
    return index;
}

// Cut-through to a faster line: it would run dry if it began before enough has come in.
bool Switch::must_wait_for_tail(Instant now, uint16_t port, uint32_t lane) {
    if (settings_.node.forwarding != Forwarding::cut_through) return false;
    const Transit& transit = cabling_.store[cabling_.out(global(port), lane).queue.head];
    const Instant tail = transit.at + Duration{transit.tail_ps};
    const Duration takes = cabling_.port(global(port)).line.rate().time_for(transit.wire_bytes);
    if (tail <= now + takes) return false;
    set(port, kLine, tail - takes);
    return true;
}

}  // namespace tulle::fabric
