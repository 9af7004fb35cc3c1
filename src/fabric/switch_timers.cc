// The timers of a switch, and changes to it from outside.
#include "fabric/switch.h"

namespace tulle::fabric {

// A lane has at most one pending timer of a kind. When due, it checks whether it still has a
// reason. A packet that was first in its queue for too long before its lane was held is due at
// once.
void Switch::add_timer(NodeTimer::Kind kind, Instant at, uint16_t port, uint32_t lane) {
    LaneWait& waiting = wait(port, lane);
    const auto bit = static_cast<uint8_t>(1u << static_cast<uint8_t>(kind));
    if ((waiting.timers & bit) != 0) return;
    waiting.timers |= bit;
    timers_.push({at, kind, static_cast<uint8_t>(lane), port});
    heed_timers();
}

void Switch::on_timer(Instant now) {
    const NodeTimer timer = timers_.pop();
    uint8_t& waiting = wait(timer.port, timer.lane).timers;
    waiting = static_cast<uint8_t>(waiting & ~(1u << static_cast<uint8_t>(timer.kind)));
    switch (timer.kind) {
        case NodeTimer::Kind::pause_ends: on_pause_ends(now, timer.port, timer.lane); break;
        case NodeTimer::Kind::pause_again:
            intake_.on_pause_again(now, timer.port, timer.lane);
            start(now, timer.port);
            break;
        case NodeTimer::Kind::head_of_queue: on_head_of_queue(now, timer.port, timer.lane); break;
        case NodeTimer::Kind::watchdog: on_watchdog(now, timer.port, timer.lane); break;
        case NodeTimer::Kind::pause_storm: break;
    }
    heed_timers();
}

void Switch::on_paused(Instant now, uint16_t port, uint32_t lane, Instant until) {
    LaneWait& waiting = wait(port, lane);
    if (now < waiting.storm_until) return;
    if ((ports_[port].held & (1u << lane)) == 0)
        sample(TraceSample::Kind::pause_begin, now, port, lane, 0);
    cabling_.hold(global(port), lane, now);
    waiting.pause_until = until;
    add_timer(NodeTimer::Kind::pause_ends, until, port, lane);
    if (const Duration limit = settings_.pfc.watchdog; limit.ps != 0)
        add_timer(NodeTimer::Kind::watchdog, waiting.paused_since + limit, port, lane);
}

void Switch::on_pause_ends(Instant now, uint16_t port, uint32_t lane) {
    const Instant until = wait(port, lane).pause_until;
    if ((ports_[port].held & (1u << lane)) == 0) return;
    if (now < until) return add_timer(NodeTimer::Kind::pause_ends, until, port, lane);
    cabling_.let_go(global(port), lane, now);
    sample(TraceSample::Kind::pause_end, now, port, lane, 0);
    start(now, port);
}

void Switch::on_head_of_queue(Instant now, uint16_t port, uint32_t lane) {
    if ((ports_[port].held & (1u << lane)) == 0 || out(port, lane).bytes == 0) return;
    const Instant due = wait(port, lane).head_since + settings_.credits.head_of_queue_lifetime;
    if (now < due) return add_timer(NodeTimer::Kind::head_of_queue, due, port, lane);
    drop_first(now, port, lane, Drop::head_of_queue);
    cabling_.let_go(global(port), lane, now);  // the next one may be small enough
    start(now, port);
}

void Switch::on_watchdog(Instant now, uint16_t port, uint32_t lane) {
    LaneWait& waiting = wait(port, lane);
    if ((ports_[port].held & (1u << lane)) == 0) return;
    if (const Instant due = waiting.paused_since + settings_.pfc.watchdog; now < due)
        return add_timer(NodeTimer::Kind::watchdog, due, port, lane);
    ++cabling_.counters(global(port)).watchdog_fired;
    waiting.storm_until = now + settings_.pfc.watchdog_restore;
    ports_[port].storming |= static_cast<uint16_t>(1u << lane);
    cabling_.let_go(global(port), lane, now);
    drop_lane(now, port, lane, Drop::watchdog);
}

void Switch::on_change(Instant now) {
    const NodeChange change = plan_.changes[next_change_++];
    rare_.set(change_source(), next_change_ < plan_.changes.size() ? plan_.changes[next_change_].at
                                                                   : Instant::never());
    if (change.kind == NodeChange::Kind::routes) {
        plan_.routes = change.routes;
        routes_row_ = plan_.routes->row(plan_.node);
        return;
    }
    if (change.kind == NodeChange::Kind::entries) return write(change.entries);
    if (change.kind == NodeChange::Kind::lanes) {
        plan_.lanes = change.lanes;
        return;
    }
    Port& port = ports_[change.port];
    if (change.kind == NodeChange::Kind::management) {
        cabling_.send_management(global(change.port), now);
        if (port.is_awaited) await_line(change.port);  // its line falls free later
        return;
    }
    port.is_up = change.kind == NodeChange::Kind::port_up;
    settle(port);
    for (uint32_t lane = 0; lane < cabling_.lanes(); ++lane) {
        if (!port.is_up) drop_lane(now, change.port, lane, Drop::link_down);
        cabling_.let_go(global(change.port), lane, now);
    }
    if (!port.is_up) return chooser_.warnings().forget(change.port);
    intake_.tell_all(change.port);
    if (!port.leads_to_host)
        chooser_.warnings().for_each_full([&](Warning full) {
            if (full.port != change.port) cabling_.warn(global(change.port), full);
        });
    start(now, change.port);
}

void Switch::write(std::span<const RouteEntry> entries) {
    if (own_row_.empty()) {
        own_row_.assign(routes_row_, routes_row_ + plan_.routes->target_count());
        routes_row_ = own_row_.data();
    }
    for (const RouteEntry& entry : entries) own_row_[entry.target] = entry.list;
}

void Switch::finish(Instant now) {
    intake_.finish(now);
    for (uint16_t port = 0; port < plan_.port_count; ++port)
        for (uint32_t lane = 0; lane < cabling_.lanes(); ++lane) {
            LaneWait& waiting = wait(port, lane);
            const bool is_held = (ports_[port].held & (1u << lane)) != 0;
            if (is_held && out(port, lane).bytes != 0)
                waiting.held_ps += static_cast<uint64_t>((now - waiting.held_since).ps);
        }
}

void Switch::keep_sample(TraceSample::Kind kind, Instant now, uint32_t port, uint32_t lane,
                         uint64_t value) {
    plan_.trace->push_back(
        {now, kind, static_cast<uint8_t>(lane), static_cast<uint16_t>(port), plan_.node, value});
}

}  // namespace tulle::fabric
