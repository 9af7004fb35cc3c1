#include "control/distributed/bridge.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tulle::control {

using base::Duration;
using base::Instant;

namespace {

// Ages and counts of BPDUs advance every second (17.17).
constexpr Duration kTick{1'000'000'000'000};

}  // namespace

Bridge::Bridge(const BridgeSettings& settings, BridgeId id, std::vector<uint32_t> costs)
    : settings_(settings), id_(id), costs_(std::move(costs)), ports_(costs_.size()) {
    root_ = {id, 0, id, 0};
}

// --- in ------------------------------------------------------------------------------------------

void Bridge::on_link(Instant now, uint16_t port, bool is_up) {
    Port& own = ports_[port];
    if (own.has_link == is_up) return;
    const bool was_forwarding = own.phase == PortPhase::forwarding;
    own = {};
    own.has_link = is_up;
    if (was_forwarding) {
        changes_.phases = true;
        flush(port);
    }
    if (is_up) own.info = Info::aged;
    update_roles(now);
    settle(now);
}

void Bridge::on_message(Instant now, uint16_t port, const Bpdu& bpdu) {
    if (!ports_[port].has_link) return;
    if (bpdu.role == PortRole::designated)
        hear_designated(now, port, bpdu);
    else if (bpdu.agreement)
        hear_agreement(port, bpdu);
    if (bpdu.topology_change) hear_change(now, port);
    settle(now);
}

// 17.21.8 (rcvInfo) and 17.27: better information counts, and so does anything from the port that
// was designated until now.
void Bridge::hear_designated(Instant now, uint16_t port, const Bpdu& bpdu) {
    Port& own = ports_[port];
    const auto sender = [](const PathPriority& p) {
        return std::tie(p.designated_bridge, p.designated_port);
    };
    const bool is_same =
        own.info == Info::received && sender(bpdu.priority) == sender(own.priority);
    const bool is_better = own.info == Info::aged || bpdu.priority < own.priority;
    if (!is_same && !is_better) {
        // The neighbour knows less: it is told at once.
        if (own.role == PortRole::designated) own.has_news = true;
        return;
    }
    const bool is_new = !is_same || bpdu.priority != own.priority;
    own.info = Info::received;
    own.priority = bpdu.priority;
    own.age = bpdu.age;
    // 17.21.23: the information expires after three hellos, or at once if it is too old already.
    own.info_until = bpdu.age + kTick > settings_.max_age ? now : now + 3 * settings_.hello;
    if (bpdu.proposal) own.proposed = true;
    if (!is_new) return;
    own.agreed = own.proposing = own.agree = own.synced = false;
    update_roles(now);
}

// 17.21.9: the neighbour agrees with what this bridge sent, or with something better.
void Bridge::hear_agreement(uint16_t port, const Bpdu& bpdu) {
    Port& own = ports_[port];
    if (own.role != PortRole::designated) return;
    if (std::pair(bpdu.priority.root, bpdu.priority.cost) < std::pair(root_.root, root_.cost))
        return;
    if (bpdu.priority.root != root_.root) return;
    own.agreed = true;
    own.proposing = false;
}

// 17.31: the change is sent through all other ports, which flush their addresses.
void Bridge::hear_change(Instant now, uint16_t port) {
    if (ports_[port].role == PortRole::root || ports_[port].role == PortRole::designated)
        tell_change(now, port);
}

void Bridge::on_timer(Instant now) {
    for (uint16_t port = 0; port < ports_.size(); ++port) {
        Port& own = ports_[port];
        if (own.tick_at <= now) {
            --own.sent;
            own.tick_at = own.sent > 0 ? now + kTick : Instant::never();
        }
        if (own.info == Info::received && own.info_until <= now) {
            own.info = Info::aged;
            own.info_until = Instant::never();
            update_roles(now);
        }
        if (own.changing_until <= now) own.changing_until = Instant::never();
        if (own.hello_at <= now) {
            own.hello_at = now + settings_.hello;
            const bool tells =
                own.role == PortRole::designated ||
                (own.role == PortRole::root && own.changing_until != Instant::never());
            if (tells && !own.has_news) transmit(now, port, true);
        }
    }
    settle(now);
}

// --- roles ---------------------------------------------------------------------------------------

// The path to the root through a port: what its neighbour sent, plus the cost of the cable.
PathPriority Bridge::heard_path(uint16_t port) const {
    PathPriority path = ports_[port].priority;
    path.cost += costs_[port];
    return path;
}

// 17.21.25.
void Bridge::update_roles(Instant now) {
    PathPriority best{id_, 0, id_, 0};
    std::optional<uint16_t> root_port;
    for (uint16_t port = 0; port < ports_.size(); ++port) {
        const Port& own = ports_[port];
        if (own.info != Info::received || own.priority.designated_bridge == id_) continue;
        if (heard_path(port) >= best) continue;
        best = heard_path(port);
        root_port = port;
    }
    root_ = {best.root, best.cost, id_, 0};
    root_age_ = root_port ? ports_[*root_port].age + kTick : Duration{};
    for (uint16_t port = 0; port < ports_.size(); ++port) {
        const Port& own = ports_[port];
        PathPriority designated = root_;
        designated.designated_port = port;
        if (!own.has_link)
            set_role(now, port, PortRole::disabled);
        else if (root_port == port)
            set_role(now, port, PortRole::root);
        else if (own.info != Info::received || designated < own.priority)
            set_role(now, port, PortRole::designated);
        else
            set_role(
                now, port,
                own.priority.designated_bridge == id_ ? PortRole::backup : PortRole::alternate);
    }
}

void Bridge::set_role(Instant now, uint16_t port, PortRole role) {
    Port& own = ports_[port];
    const PortRole before = std::exchange(own.role, role);
    if (role == PortRole::designated) {
        PathPriority designated = root_;
        designated.designated_port = port;
        if (own.info != Info::mine || own.priority != designated) {
            own.info = Info::mine;
            own.priority = designated;
            own.info_until = Instant::never();
            own.agreed = own.synced = own.proposing = own.proposed = false;
            own.has_news = true;
        }
    }
    if (before == role) return;
    own.next_phase_at = Instant::never();
    own.agree = false;
    if (before == PortRole::root) own.recent_root_until = now + settings_.forward_delay;
    if (role == PortRole::root || role == PortRole::designated) {
        if (own.phase != PortPhase::forwarding) own.next_phase_at = now + settings_.forward_delay;
        if (own.hello_at == Instant::never()) own.hello_at = now + settings_.hello;
    } else {
        own.hello_at = Instant::never();
        own.proposing = false;
        block(now, port);
    }
}

// --- phases --------------------------------------------------------------------------------------

void Bridge::settle(Instant now) {
    bool has_changed = true;
    while (has_changed) {
        has_changed = false;
        for (uint16_t port = 0; port < ports_.size(); ++port) has_changed |= step(now, port);
    }
    send_news(now);
}

bool Bridge::step(Instant now, uint16_t port) {
    switch (ports_[port].role) {
        case PortRole::disabled: return false;
        case PortRole::root: return step_root(now, port);
        case PortRole::designated: return step_designated(now, port);
        case PortRole::alternate:
        case PortRole::backup: return step_alternate(port);
    }
    return false;
}

// 17.29.2. The port answers a proposal once all other ports are in agreement or blocked. It
// forwards as soon as no port forwards that was the root port recently.
bool Bridge::step_root(Instant now, uint16_t port) {
    Port& own = ports_[port];
    if (std::exchange(own.proposed, false)) {
        own.has_news |= own.agree;  // agreement is repeated
        if (!own.agree) sync_others(port);
        own.must_sync = !own.agree;
        return true;
    }
    if (own.must_sync && others_are_synced(port)) {
        own.must_sync = false;
        own.agree = own.has_news = true;
        return true;
    }
    if (own.phase == PortPhase::forwarding) return false;
    if (!has_recent_root(now, port)) {
        advance_phase(now, port, true);
        return true;
    }
    bool has_changed = false;
    for (uint16_t other = 0; other < ports_.size(); ++other) {
        Port& old = ports_[other];
        if (other == port || old.recent_root_until <= now) continue;
        old.recent_root_until = Instant{};
        if (old.role == PortRole::designated && !old.agreed) block(now, other);
        has_changed = true;
    }
    return has_changed;
}

// 17.29.3.
bool Bridge::step_designated(Instant now, uint16_t port) {
    Port& own = ports_[port];
    if (own.agreed && !own.synced) {
        own.synced = true;
        own.must_sync = false;
        return true;
    }
    if (own.must_sync && !own.synced) {
        block(now, port);
        own.synced = true;
        own.must_sync = false;
        return true;
    }
    if (own.phase == PortPhase::forwarding) return false;
    if (!own.agreed && !own.proposing) {
        own.proposing = own.has_news = true;
        return true;
    }
    if (!may_forward(now, port)) return false;
    advance_phase(now, port, own.agreed);
    return true;
}

bool Bridge::may_forward(Instant now, uint16_t port) const {
    const Port& own = ports_[port];
    return own.agreed || own.next_phase_at <= now;
}

// 17.29.4: the port is blocked, so it agrees with any proposal of its neighbour.
bool Bridge::step_alternate(uint16_t port) {
    Port& own = ports_[port];
    own.synced = true;
    if (!std::exchange(own.proposed, false)) return false;
    own.agree = own.has_news = true;
    return true;
}

// 17.21.14.
void Bridge::sync_others(uint16_t port) {
    for (uint16_t other = 0; other < ports_.size(); ++other) {
        Port& own = ports_[other];
        if (other == port || own.role != PortRole::designated) continue;
        own.synced = own.agreed || own.phase == PortPhase::discarding;
        own.must_sync = !own.synced;
    }
}

bool Bridge::others_are_synced(uint16_t port) const {
    for (uint16_t other = 0; other < ports_.size(); ++other)
        if (other != port && ports_[other].role == PortRole::designated && ports_[other].must_sync)
            return false;
    return true;
}

bool Bridge::has_recent_root(Instant now, uint16_t but) const {
    for (uint16_t port = 0; port < ports_.size(); ++port)
        if (port != but && ports_[port].recent_root_until > now &&
            ports_[port].phase != PortPhase::discarding)
            return true;
    return false;
}

void Bridge::advance_phase(Instant now, uint16_t port, bool at_once) {
    Port& own = ports_[port];
    const bool is_second = own.phase == PortPhase::learning;
    own.phase = at_once || is_second ? PortPhase::forwarding : PortPhase::learning;
    own.next_phase_at =
        own.phase == PortPhase::learning ? now + settings_.forward_delay : Instant::never();
    if (own.phase != PortPhase::forwarding) return;
    own.proposing = false;
    changes_.phases = true;
    // 17.31: it is a topology change if a port begins to forward.
    own.changing_until = now + settings_.hello + kTick;
    own.has_news = true;
    tell_change(now, port);
}

void Bridge::block(Instant now, uint16_t port) {
    Port& own = ports_[port];
    if (own.phase == PortPhase::forwarding) {
        changes_.phases = true;
        flush(port);
    }
    own.phase = PortPhase::discarding;
    if (own.role == PortRole::designated) own.next_phase_at = now + settings_.forward_delay;
}

// 17.21.18: all ports but one send the change and flush their addresses.
void Bridge::tell_change(Instant now, uint16_t but) {
    for (uint16_t port = 0; port < ports_.size(); ++port) {
        Port& own = ports_[port];
        if (port == but || (own.role != PortRole::root && own.role != PortRole::designated))
            continue;
        flush(port);
        if (own.changing_until != Instant::never()) continue;
        own.changing_until = now + settings_.hello + kTick;
        own.has_news = true;
    }
}

bool Bridge::is_settled() const {
    return std::ranges::all_of(ports_, [](const Port& port) {
        const bool carries = port.role == PortRole::root || port.role == PortRole::designated;
        return !port.has_news && port.changing_until == Instant::never() &&
               (!carries || port.phase == PortPhase::forwarding);
    });
}

// --- out -----------------------------------------------------------------------------------------

void Bridge::send_news(Instant now) {
    for (uint16_t port = 0; port < ports_.size(); ++port)
        if (ports_[port].has_news && ports_[port].sent < settings_.hold_count)
            transmit(now, port, false);
}

// 17.21.20 (txRstp).
void Bridge::transmit(Instant now, uint16_t port, bool is_hello) {
    Port& own = ports_[port];
    own.has_news = false;
    if (own.role == PortRole::disabled) return;
    Bpdu bpdu;
    bpdu.role = own.role;
    bpdu.priority = root_;
    bpdu.priority.designated_port = port;
    bpdu.proposal = own.role == PortRole::designated && own.proposing;
    bpdu.agreement = own.agree;
    bpdu.topology_change = own.changing_until != Instant::never();
    bpdu.is_hello = is_hello;
    bpdu.age = root_age_;
    if (own.sent++ == 0) own.tick_at = now + kTick;
    out_.push_back({port, bpdu});
}

std::optional<BpduOut> Bridge::poll_transmit() {
    if (out_.empty()) return std::nullopt;
    const BpduOut first = out_.front();
    out_.pop_front();
    return first;
}

BridgeChanges Bridge::take_changes() {
    return std::exchange(changes_, {});
}

Instant Bridge::next_deadline() const {
    Instant next = Instant::never();
    for (const Port& port : ports_)
        next = std::min({next, port.info_until, port.next_phase_at, port.hello_at, port.tick_at,
                         port.changing_until});
    return next;
}

}  // namespace tulle::control
