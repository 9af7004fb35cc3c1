#include "control/subnet/manager/manager.h"

#include <algorithm>
#include <utility>

#include "wire/mad/notice.h"
#include "wire/mad/smp_tables.h"

namespace tulle::control {
namespace {

using wire::PortInfo;

constexpr size_t kMostRepresses = 4'096;  // pending; chosen

bool outranks(const wire::SmInfo& one, const wire::SmInfo& other) {
    if (one.priority != other.priority) return one.priority > other.priority;
    return one.guid.value < other.guid.value;
}

MadBytes congestion_mad(const SubnetPlan& plan, uint64_t key, const SmpRequest& request,
                        uint64_t transaction) {
    wire::CongestionMad mad;
    mad.header.base_version = 1;
    mad.header.class_version = 2;
    mad.header.management_class.value = wire::kClassCongestionControl;
    mad.header.method.value = wire::kMethodSet;
    mad.header.transaction_id.value = transaction;
    mad.header.attribute_id.value = request.attribute;
    mad.header.attribute_modifier.value = request.modifier;
    mad.congestion.cc_key.value = key;
    MadBytes bytes;
    wire::write(mad, bytes.bytes());
    std::ranges::copy(plan.congestion_data(request),
                      bytes.bytes().subspan(wire::kCongestionDataOffset).begin());
    return bytes;
}

}  // namespace

Manager::Manager(ManagerSettings settings, LidsByGuid lids)
    : settings_(std::move(settings)),
      lids_(std::move(lids)),
      window_({settings_.window, settings_.retries, settings_.timeout}),
      plan_(settings_),
      tables_(fabric_, plan_, window_) {}

wire::SmInfo Manager::info() const {
    wire::SmInfo info;
    info.guid.value = settings_.port_guid;
    info.activity_count = activity_;
    info.priority = settings_.priority;
    info.state = state_;
    return info;
}

void Manager::start(base::Instant now) {
    state_ = wire::kSmDiscovering;
    begin_sweep(now);
}

void Manager::begin_sweep(base::Instant) {
    ++counters_.sweeps;
    phase_ = Phase::discover;
    reasons_.begin_sweep(settings_.restarts);
    tables_.begin_sweep();
    poll_at_ = base::Instant::never();
    fabric_.clear();
    managers_.clear();
    window_.clear();
    window_.ask({.attribute = wire::kSmpNodeInfo});
}

// --- sending -------------------------------------------------------------------------------------

std::optional<ManagerMad> Manager::poll_transmit(base::Instant now) {
    SmpRequest request;
    ManagerMad out;
    if (can_repress()) {
        const Repress repress = repress_.front();
        repress_.pop_front();
        request = {.node = fabric_.node_with(repress.lid, lids_), .attribute = wire::kSmpNotice};
        const bool is_found = request.node != kNone;  // otherwise it sends the trap again
        if (is_found) {
            out.mad = directed(request, repress.trap.transaction());
            std::ranges::copy(repress.trap.data(), out.mad.data().begin());
        }
        next_phase(now);  // a sweep waits until traps are repressed
        if (!is_found) return poll_transmit(now);
    } else if (const auto next = window_.poll(now)) {
        request = next->request;
        if (request.is_congestion) {
            out.to = lid_of(fabric_[request.node], lids_);
            out.mad = congestion_mad(plan_, settings_.congestion->key, request, next->transaction);
        } else {
            out.mad = directed(request, next->transaction);
        }
    } else {
        return std::nullopt;
    }
    ++counters_.sent;
    ++counters_.sent_of[counter_key(request.attribute, request.is_congestion)];
    return out;
}

MadBytes Manager::directed(const SmpRequest& request, uint64_t transaction) const {
    wire::DirectedSmp smp;
    smp.header.base_version = smp.header.class_version = 1;
    smp.header.management_class.value = wire::kClassSubnetDirectedRoute;
    smp.header.method.value = request.attribute == wire::kSmpNotice ? wire::kMethodTrapRepress
                              : request.is_set                      ? wire::kMethodSet
                                                                    : wire::kMethodGet;
    smp.header.transaction_id.value = transaction;
    smp.header.attribute_id.value = request.attribute;
    smp.header.attribute_modifier.value = request.modifier;
    smp.route.m_key.value = settings_.m_key;
    smp.route.dr_slid.value = smp.route.dr_dlid.value = kPermissiveLid;
    const bool is_poll = phase_ == Phase::idle && state_ == wire::kSmStandby;
    const std::vector<uint8_t> none;
    const std::vector<uint8_t>& path = is_poll                 ? master_path_
                                       : request.node == kNone ? none
                                                               : fabric_[request.node].path;
    size_t hops = 0;
    for (const uint8_t port : path) smp.paths.initial_path[++hops] = port;
    if (request.behind != 0) smp.paths.initial_path[++hops] = request.behind;
    smp.header.hop_count = static_cast<uint8_t>(hops);
    MadBytes bytes;
    wire::write(smp, bytes.bytes());
    if (request.is_set) fill_data(request, bytes);
    return bytes;
}

void Manager::fill_data(const SmpRequest& request, MadBytes& smp) const {
    switch (request.attribute) {
        case wire::kSmpPortInfo: {
            PortInfo wanted = plan_.wanted_port(fabric_, lids_, request);
            wanted.client_reregister = phase_ == Phase::call_clients;
            wire::write(wanted, smp.data());
            break;
        }
        case wire::kSmpSmInfo: {
            wire::SmInfo own = info();
            own.sm_key.value = settings_.sm_key;
            wire::write(own, smp.data());
            break;
        }
        case wire::kSmpSwitchInfo: {
            wire::SwitchInfo wanted = fabric_[request.node].switch_info;
            wanted.port_state_change = phase_ == Phase::discover;  // a one clears the mark
            if (phase_ != Phase::discover)
                wanted.linear_top = static_cast<uint16_t>(plan_.subnet().lid_end() - 1);
            wire::write(wanted, smp.data());
            break;
        }
        default: std::ranges::copy(plan_.block(fabric_, request), smp.data().begin());
    }
}

// --- receiving -----------------------------------------------------------------------------------

void Manager::on_mad(base::Instant now, const MadBytes& mad) {
    if (mad.is_smp() && mad.method() == wire::kMethodTrap) return take_trap(mad);
    if (mad.method() != wire::kMethodGetResp) return;
    const auto request = window_.take_answered(static_cast<uint32_t>(mad.transaction()));
    if (!request) return;
    ++counters_.answered;
    take(now, *request, mad);
    next_phase(now);
}

void Manager::take_trap(const MadBytes& smp) {
    ++counters_.traps;
    if (state_ != wire::kSmMaster) return;
    const auto notice = *wire::parse<wire::Notice>(smp.data());
    const auto is_same = [&](const Repress& other) {
        return other.lid == notice.issuer_lid.value &&
               other.trap.transaction() == smp.transaction();
    };
    if (repress_.size() < kMostRepresses && std::ranges::none_of(repress_, is_same))
        repress_.push_back({notice.issuer_lid.value, smp});
    if (notice.trap_number == wire::kTrapBadMKey) {
        ++counters_.bad_key_traps;
        return;
    }
    reasons_.is_dirty = true;
    // A manager appeared or left: it may have written.
    if (notice.trap_number == wire::kTrapCapabilityChanged) tables_.distrust();
}

void Manager::take(base::Instant now, const SmpRequest& request, const MadBytes& mad) {
    if (mad.status() != wire::kStatusOk) {
        // A port that went down meanwhile refuses a state; the next sweep sees it. A node without
        // congestion control answers with an error, which is expected.
        if (request.attribute != wire::kSmpSmInfo && !request.is_congestion)
            reasons_.is_incomplete = true;
        return;
    }
    if (request.is_set) return take_set(now, request, mad);
    switch (request.attribute) {
        case wire::kSmpNodeInfo: take_node(request, mad); break;
        case wire::kSmpPortInfo: take_port(request, mad); break;
        case wire::kSmpSmInfo: take_manager(request, mad); break;
        case wire::kSmpSwitchInfo: take_switch(request, mad); break;
        case wire::kSmpNodeDescription: {
            const auto description = *wire::parse<wire::NodeDescription>(mad.data());
            fabric_[request.node].description =
                std::string(description.text.begin(),
                            std::find(description.text.begin(), description.text.end(), '\0'));
            break;
        }
        default: break;
    }
}

void Manager::take_set(base::Instant now, const SmpRequest& request, const MadBytes& mad) {
    switch (request.is_congestion ? 0 : request.attribute) {
        case wire::kSmpPortInfo: take_port(request, mad); break;
        case wire::kSmpSwitchInfo:
            if (phase_ == Phase::discover) ask_ports(request.node);
            break;
        case wire::kSmpSmInfo:
            state_ = wire::kSmStandby;  // the other manager took over
            poll_at_ = now + settings_.poll_interval;
            break;
        default: tables_.note(request);
    }
}

// A switch marks that one of its links changed. The mark is cleared before the ports are read, so
// that the next look sees any later change. A manager that is not master yet leaves the mark to the
// master, unless nobody has ever written to the switch.
void Manager::take_switch(const SmpRequest& request, const MadBytes& smp) {
    FoundNode& found = fabric_[request.node];
    found.switch_info = *wire::parse<wire::SwitchInfo>(smp.data());
    if (phase_ == Phase::idle) {
        reasons_.is_dirty |= found.switch_info.port_state_change;
        return;
    }
    const bool is_mine = state_ == wire::kSmMaster || found.switch_info.linear_top == 0;
    if (!found.switch_info.port_state_change) return ask_ports(request.node);
    if (is_mine) {
        window_.ask({.node = request.node, .attribute = wire::kSmpSwitchInfo, .is_set = true});
        return;
    }
    reasons_.is_dirty = true;
    ask_ports(request.node);
}

void Manager::ask_ports(uint32_t node) {
    for (uint32_t port = 0; port <= fabric_[node].port_count(); ++port)
        window_.ask({.node = node, .attribute = wire::kSmpPortInfo, .modifier = port});
}

void Manager::take_node(const SmpRequest& request, const MadBytes& smp) {
    const auto info = *wire::parse<wire::NodeInfo>(smp.data());
    const bool is_switch = info.node_type == wire::kNodeSwitch;
    // Ignores a node that cannot exist.
    if (info.port_count == 0 || info.port_count > kMaxPort || info.local_port > info.port_count ||
        (!is_switch && info.local_port == 0))
        return;
    if (phase_ == Phase::idle) {  // a silent node answers now
        reasons_.is_dirty = true;
        return;
    }
    uint32_t node = fabric_.node_of(info.port_guid.value);
    if (node == kNone) {
        FoundNode found;
        found.info = info;
        found.is_switch = is_switch;
        if (request.node != kNone) {
            found.path = fabric_[request.node].path;
            found.path.push_back(request.behind);
            found.entry_port = info.local_port;
        }
        found.ports.resize(size_t{info.port_count} + 1);
        node = fabric_.add(std::move(found));
        window_.ask({.node = node, .attribute = wire::kSmpNodeDescription});
        if (is_switch)
            window_.ask({.node = node, .attribute = wire::kSmpSwitchInfo});
        else
            window_.ask(
                {.node = node, .attribute = wire::kSmpPortInfo, .modifier = info.local_port});
    }
    if (request.node != kNone) fabric_.join(request.node, request.behind, node, info.local_port);
}

void Manager::take_port(const SmpRequest& request, const MadBytes& smp) {
    FoundNode& found = fabric_[request.node];
    const auto number = static_cast<uint8_t>(request.modifier);
    FoundPort& port = found.ports[number];
    port.info = *wire::parse<PortInfo>(smp.data());
    port.is_known = true;
    if (phase_ == Phase::discover) port.was_active = port.info.port_state == wire::kPortActive;
    // If the other end was asked first, the peer of this port is known already.
    if (phase_ == Phase::discover && fabric_.leads_to_unknown(request.node, number))
        window_.ask({.node = request.node, .behind = number, .attribute = wire::kSmpNodeInfo});
}

void Manager::take_manager(const SmpRequest& request, const MadBytes& smp) {
    const auto other = *wire::parse<wire::SmInfo>(smp.data());
    if (phase_ == Phase::idle) {
        polls_lost_ = 0;
        if (other.state != wire::kSmMaster) polls_lost_ = settings_.polls_lost;
        return;
    }
    managers_[request.node] = other;
}

// --- timers --------------------------------------------------------------------------------------

base::Instant Manager::next_deadline() const {
    return std::min(poll_at_, window_.next_deadline());
}

void Manager::on_timer(base::Instant now) {
    // A lost request calls for another sweep. A manager that does not answer is ignored, and so is
    // an unknown node until the next look.
    const std::vector<SmpRequest> given_up = window_.on_timer(now);
    for (const SmpRequest& request : given_up)
        reasons_.is_incomplete |= request.attribute != wire::kSmpSmInfo && request.behind == 0;
    const bool is_late = !given_up.empty() || window_.repeated() != counters_.repeated;
    counters_.given_up += given_up.size();
    counters_.repeated = window_.repeated();
    const bool is_sweeping = phase_ != Phase::idle && phase_ != Phase::hand_over;
    // What changed may be on the way of all other requests, too. Rather than wait for each of them,
    // the manager discovers ways around it.
    if (is_late && reasons_.call(settings_.restarts) && is_sweeping &&
        restarts_ < settings_.restarts) {
        ++restarts_;
        return begin_sweep(now);
    }
    if (now >= poll_at_ && phase_ == Phase::idle) {
        if (state_ == wire::kSmStandby) {
            poll_at_ = now + settings_.poll_interval;
            if (++polls_lost_ > settings_.polls_lost) {
                polls_lost_ = 0;
                state_ = wire::kSmDiscovering;
                return begin_sweep(now);
            }
            window_.ask({.attribute = wire::kSmpSmInfo});
        } else if (state_ == wire::kSmMaster) {
            if (++looks_ >= settings_.looks_a_sweep || reasons_.is_incomplete)
                return begin_sweep(now);
            poll_at_ = now + settings_.look_interval;
            // A light sweep: did a switch mark a change, has one gone, does a silent node answer?
            for (uint32_t node = 0; node < fabric_.size(); ++node) {
                if (fabric_[node].is_switch)
                    window_.ask({.node = node, .attribute = wire::kSmpSwitchInfo});
                for (uint32_t port = 1; port < fabric_[node].ports.size(); ++port)
                    if (const auto number = static_cast<uint8_t>(port);
                        fabric_.leads_to_unknown(node, number))
                        window_.ask(
                            {.node = node, .behind = number, .attribute = wire::kSmpNodeInfo});
            }
        }
    }
    next_phase(now);
}

// 14.4.1: a master obeys no request but to stay master.
void Manager::on_control(base::Instant now, const ManagerControl& control) {
    if (control.sm_key != settings_.sm_key) {
        ++counters_.bad_sm_key;
        return;
    }
    const uint32_t request = control.request;
    if (request == wire::kSmHandover && state_ == wire::kSmStandby) {
        become_master();
        begin_sweep(now);
    } else if (request == wire::kSmHandover && state_ == wire::kSmMaster) {
        reasons_.is_dirty = true;  // there were two masters, and this one stays
        tables_.distrust();
        next_phase(now);
    }
    if (request == wire::kSmDisable && state_ == wire::kSmStandby) {
        state_ = wire::kSmNotActive;
        poll_at_ = base::Instant::never();
    }
    if (request == wire::kSmStandbyRequest && state_ == wire::kSmNotActive) {
        state_ = wire::kSmStandby;
        poll_at_ = now + settings_.poll_interval;
    }
}

void Manager::set_groups(base::Instant now, std::vector<MulticastGroup> groups) {
    if (!tables_.set_groups(std::move(groups))) return;
    next_phase(now);
}

// --- the phases of a sweep -----------------------------------------------------------------------

void Manager::next_phase(base::Instant now) {
    if (phase_ == Phase::idle && !reasons_.call(settings_.restarts) && state_ == wire::kSmMaster &&
        window_.is_empty() && tables_.groups_changed() && plan_.is_made())
        enter(Phase::write_groups, now);
    while (phase_ != Phase::idle && window_.is_empty()) {
        switch (phase_) {
            case Phase::discover: enter(Phase::ask_managers, now); break;
            case Phase::ask_managers: decide(now); break;
            case Phase::configure: enter(Phase::write_tables, now); break;
            case Phase::write_tables: enter(Phase::write_lanes, now); break;
            case Phase::write_lanes:
                if (!tables_.write_lanes()) enter(Phase::arm, now);
                break;
            case Phase::arm: enter(Phase::activate, now); break;
            case Phase::activate: enter(Phase::control_congestion, now); break;
            case Phase::hand_over:
                if (state_ == wire::kSmMaster) return begin_sweep(now);  // the handover failed
                phase_ = Phase::idle;
                break;
            case Phase::control_congestion:
                complete_ = fabric_;
                enter(Phase::call_clients, now);
                break;
            case Phase::call_clients: end_sweep(now); break;
            case Phase::write_groups: phase_ = Phase::idle; break;
            case Phase::idle: break;
        }
    }
    // Traps are repressed first: nodes repeat them, and each one calls for another sweep.
    const bool may_sweep = phase_ == Phase::idle && state_ == wire::kSmMaster && repress_.empty();
    if (may_sweep && reasons_.call(settings_.restarts)) begin_sweep(now);
}

void Manager::enter(Phase phase, base::Instant) {
    phase_ = phase;
    switch (phase) {
        case Phase::ask_managers: ask_managers(); break;
        case Phase::write_tables:
            plan_.make(fabric_, lids_);
            tables_.write();
            tables_.write_groups();
            break;
        case Phase::arm: set_states(wire::kPortArmed); break;
        case Phase::activate: set_states(wire::kPortActive); break;
        case Phase::control_congestion: tables_.write_congestion(); break;
        case Phase::call_clients: call_clients(); break;
        case Phase::write_groups: tables_.write_groups(); break;
        default: break;
    }
}

void Manager::end_sweep(base::Instant now) {
    phase_ = Phase::idle;
    if (!reasons_.is_dirty && !reasons_.is_incomplete) is_new_master_ = false;
    reasons_.end_sweep();
    ++activity_;
    looks_ = 0;
    restarts_ = 0;
    poll_at_ = now + settings_.look_interval;
}

void Manager::ask_managers() {
    for (uint32_t node = 0; node < fabric_.size(); ++node) {
        if (fabric_[node].port_guid() == settings_.port_guid) continue;
        for (const FoundPort& port : fabric_[node].ports)
            if (port.is_known && (port.info.capability_mask.value & wire::kPortIsSm) != 0 &&
                !fabric_[node].is_switch) {
                window_.ask({.node = node, .attribute = wire::kSmpSmInfo});
                break;
            }
    }
}

// 14.4.1: a master that finds a standby of higher rank hands over to it. A manager that is still
// discovering yields to any master, and to any manager of higher rank.
void Manager::decide(base::Instant now) {
    for (const auto& [node, other] : managers_) {
        // An adapter with two ports is found twice: this may be the manager itself.
        if (other.state == wire::kSmNotActive || other.guid.value == settings_.port_guid) continue;
        const bool is_better = !outranks(info(), other);
        if (other.state == wire::kSmMaster) tables_.distrust();
        if (state_ == wire::kSmMaster && is_better) {
            phase_ = Phase::hand_over;
            master_path_ = fabric_[node].path;
            window_.ask({.node = node,
                         .attribute = wire::kSmpSmInfo,
                         .modifier = wire::kSmHandover,
                         .is_set = true});
            poll_at_ = now + settings_.poll_interval;
            return;
        }
        if (state_ == wire::kSmDiscovering && (other.state == wire::kSmMaster || is_better)) {
            state_ = wire::kSmStandby;
            phase_ = Phase::idle;
            master_path_ = fabric_[node].path;
            polls_lost_ = 0;
            poll_at_ = now + settings_.poll_interval;
            return;
        }
    }
    become_master();
    phase_ = Phase::configure;
    configure();
}

// A new master does not know what another master has written.
void Manager::become_master() {
    if (state_ != wire::kSmMaster) {
        tables_.distrust();
        is_new_master_ = true;
    }
    state_ = wire::kSmMaster;
}

void Manager::configure() {
    assign_lids(fabric_, settings_.lmc, lids_);
    tables_.forget_lost(settings_.port_guid, lids_);
    fabric_.for_each_link_port([this](uint32_t node, uint8_t number, const PortInfo& now) {
        const SmpRequest request{.node = node,
                                 .attribute = wire::kSmpPortInfo,
                                 .modifier = number,
                                 .is_set = true,
                                 .wanted_state = wire::kPortNoChange};
        const PortInfo wanted = plan_.wanted_port(fabric_, lids_, request);
        const bool is_as_wanted =
            wanted.lid == now.lid && wanted.lmc == now.lmc &&
            wanted.master_sm_lid == now.master_sm_lid && wanted.m_key.value == now.m_key.value &&
            wanted.m_key_lease_period == now.m_key_lease_period &&
            wanted.m_key_protect_bits == now.m_key_protect_bits &&
            wanted.operational_vls == now.operational_vls &&
            wanted.neighbor_mtu == now.neighbor_mtu && wanted.vl_high_limit == now.vl_high_limit &&
            wanted.inbound_enforcement == now.inbound_enforcement;
        if (!is_as_wanted) window_.ask(request);
    });
}

// What hosts registered with another manager is not known here. A port that nobody has brought up
// before has registered nothing.
void Manager::call_clients() {
    if (!is_new_master_) return;
    fabric_.for_each_link_port([&](uint32_t node, uint8_t number, const PortInfo&) {
        if (fabric_[node].is_switch || !fabric_[node].ports[number].was_active) return;
        window_.ask({.node = node,
                     .attribute = wire::kSmpPortInfo,
                     .modifier = number,
                     .is_set = true,
                     .wanted_state = wire::kPortNoChange});
    });
}

void Manager::set_states(wire::PortState state) {
    fabric_.for_each_link_port([&](uint32_t node, uint8_t number, const PortInfo& now) {
        if (number == 0 || now.port_state + 1 != state) return;
        window_.ask({.node = node,
                     .attribute = wire::kSmpPortInfo,
                     .modifier = number,
                     .is_set = true,
                     .wanted_state = state});
    });
}

}  // namespace tulle::control
