#include "fabric/holds.h"

#include <algorithm>

namespace tulle::fabric {

void Holds::on_paused(Instant now, uint16_t port, uint32_t lane, Instant until) {
    LaneWait& waiting = ports_.wait(port, lane);
    if (now < waiting.storm_until) return;
    if (!is_held(port, lane)) ports_.sample(TraceSample::Kind::pause_begin, now, port, lane, 0);
    hold(now, port, lane);
    waiting.pause_until = until;
    add_timer(NodeTimer::Kind::pause_ends, until, port, lane);
    if (const Duration limit = ports_.settings.pfc.watchdog; limit.ps != 0)
        add_timer(NodeTimer::Kind::watchdog, waiting.paused_since + limit, port, lane);
}

void Holds::on_opened(Instant now, uint16_t port, uint32_t lane) {
    ports_.wait(port, lane).pause_until = now;
    let_go(now, port, lane);
    ports_.sample(TraceSample::Kind::pause_end, now, port, lane, 0);
}

void Holds::on_credits_lacking(Instant now, uint16_t port, uint32_t lane) {
    hold(now, port, lane);
    ports_.sample(TraceSample::Kind::pause_begin, now, port, lane, 0);
    const Duration lifetime = ports_.settings.credits.head_of_queue_lifetime;
    if (lifetime.ps == 0) return;
    // A packet that was first for too long before its lane was held is due at once.
    const Instant due = std::max(now, ports_.wait(port, lane).head_since + lifetime);
    add_timer(NodeTimer::Kind::head_of_queue, due, port, lane);
}

Holds::Due Holds::on_timer(Instant now, const NodeTimer& timer) {
    uint8_t& waiting = ports_.wait(timer.port, timer.lane).timers;
    waiting = static_cast<uint8_t>(waiting & ~(1u << static_cast<uint8_t>(timer.kind)));
    if (!is_held(timer.port, timer.lane)) return Due::nothing;
    switch (timer.kind) {
        case NodeTimer::Kind::pause_ends: return on_pause_ends(now, timer.port, timer.lane);
        case NodeTimer::Kind::head_of_queue: return on_head_of_queue(now, timer.port, timer.lane);
        case NodeTimer::Kind::watchdog: return on_watchdog(now, timer.port, timer.lane);
        default: return Due::nothing;
    }
}

Holds::Due Holds::on_pause_ends(Instant now, uint16_t port, uint32_t lane) {
    const Instant until = ports_.wait(port, lane).pause_until;
    if (now < until) {
        add_timer(NodeTimer::Kind::pause_ends, until, port, lane);
        return Due::nothing;
    }
    let_go(now, port, lane);
    ports_.sample(TraceSample::Kind::pause_end, now, port, lane, 0);
    return Due::line;
}

Holds::Due Holds::on_head_of_queue(Instant now, uint16_t port, uint32_t lane) {
    if (ports_.out(port, lane).bytes == 0) return Due::nothing;
    const Instant due =
        ports_.wait(port, lane).head_since + ports_.settings.credits.head_of_queue_lifetime;
    if (now >= due) return Due::head;
    add_timer(NodeTimer::Kind::head_of_queue, due, port, lane);
    return Due::nothing;
}

Holds::Due Holds::on_watchdog(Instant now, uint16_t port, uint32_t lane) {
    LaneWait& waiting = ports_.wait(port, lane);
    if (const Instant due = waiting.paused_since + ports_.settings.pfc.watchdog; now < due) {
        add_timer(NodeTimer::Kind::watchdog, due, port, lane);
        return Due::nothing;
    }
    ++ports_.counters(port).watchdog_fired;
    waiting.storm_until = now + ports_.settings.pfc.watchdog_restore;
    ports_[port].storming |= bit_of(lane);
    let_go(now, port, lane);
    return Due::queue;
}

// A lane has at most one pending timer of a kind. When due, it checks whether it still has a
// reason.
void Holds::add_timer(NodeTimer::Kind kind, Instant at, uint16_t port, uint32_t lane) {
    LaneWait& waiting = ports_.wait(port, lane);
    const auto bit = static_cast<uint8_t>(1u << static_cast<uint8_t>(kind));
    if ((waiting.timers & bit) != 0) return;
    waiting.timers |= bit;
    rare_.add({at, kind, static_cast<uint8_t>(lane), port});
}

void Holds::finish(Instant now) {
    for (uint16_t port = 0; port < ports_.count(); ++port)
        for (uint32_t lane = 0; lane < ports_.lanes(); ++lane) {
            LaneWait& waiting = ports_.wait(port, lane);
            if (is_held(port, lane) && ports_.out(port, lane).bytes != 0)
                waiting.held_ps += static_cast<uint64_t>((now - waiting.held_since).ps);
        }
}

}  // namespace tulle::fabric
