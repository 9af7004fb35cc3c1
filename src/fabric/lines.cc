#include "fabric/lines.h"

#include <algorithm>

namespace tulle::fabric {

Lines::Lines(const Settings& settings, Cabling& cabling, SwitchPlan& plan, RareEvents& rare,
             Warnings& warnings, base::RandomStream& random)
    : ports_(settings, cabling, plan),
      free_(plan.port_count),
      storage_(ports_, rare.timers),
      holds_(ports_, rare),
      marker_(ports_, std::move(plan.ecn), plan.never_marks, random),
      arbiter_(settings, plan.ets, std::move(plan.port_ets), plan.port_count),
      warnings_(warnings),
      has_credits_(cabling.has_credits()),
      cuts_through_(settings.node.forwarding == Forwarding::cut_through),
      marks_at_dequeue_(marker_.is_at_dequeue()),
      watches_heads_(warnings.is_used() || settings.credits.head_of_queue_lifetime.ps != 0) {}

void Lines::start_idle(Instant now, uint32_t port) {
    if (has_credits_)
        use<true>(now, port);
    else
        use<false>(now, port);
}

uint32_t Lines::lane_with_care(Instant now, uint32_t port, uint32_t eligible) {
    Port& to = ports_[port];
    if (!to.is_up) return kNoLane;
    if (to.owed.any()) {
        to.busy_until = ports_.cabling.transmit_owed(ports_.global(port), now);
        to.is_awaited = false;
        await_next(port);
        return kNoLane;
    }
    if (eligible == 0) return kNoLane;
    const bool has_choice = has_credits_ || is_several(eligible);
    const uint32_t lane =
        has_choice ? pick(now, port) : static_cast<uint32_t>(std::countr_zero(eligible));
    if (lane == kNoLane || !cuts_through_) return lane;
    const Transit& first = ports_.cabling.store[ports_.out(port, lane).queue.head];
    return must_wait_for_tail(now, port, first) ? kNoLane : lane;
}

// Chooses among the lanes with packets. Lanes without credits for their first packet are held.
uint32_t Lines::pick(Instant now, uint32_t port) {
    const CreditScale scale = ports_.cabling.credit_scale();
    Port& to = ports_[port];
    auto eligible = static_cast<uint16_t>(to.filled & ~to.held);
    std::array<uint16_t, kLanes> head_bytes;
    for (uint16_t lanes = eligible; lanes != 0; lanes &= static_cast<uint16_t>(lanes - 1)) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(lanes));
        const LaneOut& waiting = ports_.out(port, lane);
        head_bytes[lane] = ports_.cabling.store[waiting.queue.head].wire_bytes;
        if (!has_credits_ || lane == kManagementLane ||
            waiting.credits.allow(scale.blocks_of(head_bytes[lane]), scale))
            continue;
        eligible = static_cast<uint16_t>(eligible & ~bit_of(lane));
        holds_.on_credits_lacking(now, static_cast<uint16_t>(port), lane);
    }
    if (eligible == 0) return kNoLane;
    if (!is_several(eligible)) return static_cast<uint32_t>(std::countr_zero(eligible));
    const std::span waits(&ports_.wait(port, 0), ports_.lanes());
    return arbiter_.pick(port, to, waits, eligible, head_bytes);
}

// A packet has left a queue: the next one is its head.
void Lines::watch_head(Instant now, uint32_t port, uint32_t lane) {
    ports_.wait(port, lane).head_since = now;
    if (warnings_.is_used()) watch(now, port, ports_[port].queued_bytes);
}

// Cut-through to a faster line: the line would run dry if it began before enough has arrived.
bool Lines::must_wait_for_tail(Instant now, uint32_t port, const Transit& transit) {
    const Instant tail = transit.at + Duration{transit.tail_ps};
    const Duration takes = ports_.cabling.line_time(ports_.global(port), transit.wire_bytes);
    if (tail <= now + takes) return false;
    ports_[port].is_awaited = true;
    free_.set_near(port, tail - takes);
    return true;
}

void Lines::on_timer(Instant now, const NodeTimer& timer) {
    switch (holds_.on_timer(now, timer)) {
        case Holds::Due::nothing: return;
        case Holds::Due::line: return start(now, timer.port);
        case Holds::Due::head:
            drop_first(now, timer.port, timer.lane, Drop::head_of_queue);
            holds_.let_go(now, timer.port, timer.lane);  // the next one may be small enough
            return start(now, timer.port);
        case Holds::Due::queue: return drop_lane(now, timer.port, timer.lane, Drop::watchdog);
    }
}

void Lines::drop_stored(Instant now, uint32_t port, uint32_t index, Drop cause) {
    const Transit transit = ports_.cabling.store[index];
    ports_.sample(TraceSample::Kind::drop, now, port, transit.lane, 1);
    ports_.cabling.drop(now, ports_.global(port), index, cause);
    release(now, transit.in_port, transit.in_lane, transit.wire_bytes);
}

void Lines::drop_first(Instant now, uint16_t port, uint32_t lane, Drop cause) {
    drop_stored(now, port, take_first(now, port, lane), cause);
}

void Lines::drop_lane(Instant now, uint16_t port, uint32_t lane, Drop cause) {
    while (ports_.out(port, lane).bytes != 0) drop_first(now, port, lane, cause);
}

void Lines::watch(Instant now, uint32_t port, uint32_t queued_bytes) {
    const auto warning = warnings_.look(static_cast<uint16_t>(port), queued_bytes);
    if (!warning) return;
    for (uint32_t i = 0; i < ports_.count(); ++i) {
        Port& to = ports_[i];
        if (i == port || !to.is_up || to.leads_to_host) continue;
        ports_.cabling.warn(ports_.global(i), *warning);
        // The line does not start at once: a packet may be in the middle of leaving by another
        // port.
        if (to.is_awaited) continue;
        to.is_awaited = true;
        free_.set_near(i, std::max(now, to.busy_until));
    }
}

void Lines::prefetch() const {
    ports_.prefetch();
    free_.prefetch();
}

}  // namespace tulle::fabric
