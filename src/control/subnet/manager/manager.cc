#include "control/subnet/manager/manager.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "base/hash.h"
#include "control/subnet/routing/repair.h"
#include "topology/text.h"
#include "wire/mad/notice.h"
#include "wire/mad/smp_tables.h"

namespace tulle::control {
namespace {

using topology::text;
using wire::PortInfo;

constexpr uint64_t kGidPrefix = 0xfe80'0000'0000'0000;  // the default one

bool is_up(const PortInfo& info) {
    return info.port_state >= wire::kPortInitialize;
}

// The same switches and LIDs, and no link that was not there.
bool has_only_lost_links(const Subnet& before, const Subnet& after) {
    if (before.switch_count() != after.switch_count() || before.lid_end() != after.lid_end())
        return false;
    for (uint32_t id = 0; id < after.link_count(); ++id) {
        const Subnet::Link& link = after.link(id);
        const uint32_t was = before.link_at(link.from, link.port);
        if (was == kNone || before.link(was).to != link.to ||
            before.link(was).to_port != link.to_port)
            return false;
    }
    for (uint32_t lid = 0; lid < after.lid_end(); ++lid) {
        const Subnet::Place& is = after.place(lid);
        const Subnet::Place& was = before.place(lid);
        if (is.home != kNone && (is.home != was.home || is.port != was.port)) return false;
    }
    return true;
}

}  // namespace

Manager::Manager(ManagerSettings settings, LidsByGuid lids)
    : settings_(settings), lids_(std::move(lids)) {}

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
    is_dirty_ = false;
    poll_at_ = base::Instant::never();
    nodes_.clear();
    by_guid_.clear();
    managers_.clear();
    queue_.clear();
    pending_.clear();
    deadlines_.clear();
    resend_.clear();
    repress_.clear();
    ask({.attribute = wire::kSmpNodeInfo});
}

// --- sending -------------------------------------------------------------------------------------

std::optional<SmpBytes> Manager::poll_transmit(base::Instant now) {
    if (!repress_.empty()) {
        const uint32_t node = repress_.front();
        repress_.pop_front();
        ++counters_.sent;
        ++counters_.sent_of[wire::kSmpNotice];
        return bytes_of({.node = node, .attribute = wire::kSmpNotice}, 0);
    }
    while (!resend_.empty()) {
        const uint32_t number = resend_.front();
        resend_.pop_front();
        const auto found = pending_.find(number);
        if (found == pending_.end()) continue;
        ++counters_.sent;
        ++counters_.sent_of[found->second.request.attribute];
        return bytes_of(found->second.request, number);
    }
    if (queue_.empty() || pending_.size() >= settings_.window) return std::nullopt;
    const Request request = queue_.front();
    queue_.pop_front();
    const uint32_t transaction = ++transaction_;
    const base::Instant deadline = now + settings_.timeout;
    pending_[transaction] = {request, deadline, 0};
    deadlines_[{deadline, transaction}] = transaction;
    ++counters_.sent;
    ++counters_.sent_of[request.attribute];
    return bytes_of(request, transaction);
}

SmpBytes Manager::bytes_of(const Request& request, uint32_t transaction) const {
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
                                                               : nodes_[request.node].path;
    size_t hops = 0;
    for (const uint8_t port : path) smp.paths.initial_path[++hops] = port;
    if (request.behind != 0) smp.paths.initial_path[++hops] = request.behind;
    smp.header.hop_count = static_cast<uint8_t>(hops);
    SmpBytes bytes;
    wire::write(smp, bytes.bytes());
    fill_data(request, bytes);
    return bytes;
}

void Manager::fill_data(const Request& request, SmpBytes& smp) const {
    if (!request.is_set) return;
    switch (request.attribute) {
        case wire::kSmpPortInfo: wire::write(wanted_port(request), smp.data()); break;
        case wire::kSmpSmInfo: wire::write(info(), smp.data()); break;
        case wire::kSmpSwitchInfo: {
            wire::SwitchInfo wanted = nodes_[request.node].switch_info;
            wanted.port_state_change = phase_ == Phase::discover;  // a one takes the mark away
            if (phase_ != Phase::discover)
                wanted.linear_top = static_cast<uint16_t>(subnet_->lid_end() - 1);
            wire::write(wanted, smp.data());
            break;
        }
        case wire::kSmpLinearForwardingTable: {
            const auto block = routing_.tables.block(switch_of_.at(request.node), request.modifier);
            std::transform(block.begin(), block.end(), smp.data().begin(),
                           [](uint8_t port) { return std::byte{port}; });
            break;
        }
        case wire::kSmpSlToVlMappingTable: {
            const uint32_t s = switch_of_.at(request.node);
            const auto in = static_cast<uint8_t>(request.modifier >> 8);
            const auto out = static_cast<uint8_t>(request.modifier);
            wire::SlToVlMappingTable map;
            for (uint8_t level = 0; level < kServiceLevels; ++level)
                map.vl_of_sl[level] = routing_.lanes.rule.lane(subnet_->port_index(s, in),
                                                               subnet_->port_index(s, out), level);
            wire::write(map, smp.data());
            break;
        }
        default: break;
    }
}

// What the manager wants of a port: its settings, and one step towards Active.
PortInfo Manager::wanted_port(const Request& request) const {
    const Found& found = nodes_[request.node];
    const auto number = static_cast<uint8_t>(request.modifier);
    PortInfo wanted = found.ports[number].info;
    const auto own = lids_.find(settings_.port_guid);
    wanted.m_key.value = settings_.m_key;
    wanted.gid_prefix.value = kGidPrefix;
    wanted.master_sm_lid.value = own == lids_.end() ? uint16_t{0} : own->second;
    wanted.neighbor_mtu = wanted.mtu_capability;
    wanted.operational_vls = wanted.vl_capability;
    const bool has_lid = !found.is_switch || number == 0;
    wanted.lid.value = has_lid ? lid_of(found) : uint16_t{0};
    wanted.port_state = request.wanted_state;
    wanted.physical_state = wire::kPhysicalNoChange;
    return wanted;
}

uint16_t Manager::lid_of(const Found& found) const {
    const auto lid = lids_.find(found.port_guid);
    return lid == lids_.end() ? uint16_t{0} : lid->second;
}

// --- receiving -----------------------------------------------------------------------------------

void Manager::on_smp(base::Instant now, const SmpBytes& smp) {
    if (smp.method() == wire::kMethodTrap) {
        ++counters_.traps;
        if (state_ != wire::kSmMaster) return;
        repress(smp);
        is_dirty_ = true;
        if (phase_ == Phase::idle) poll_at_ = now;  // sweeps, once the trap is repressed
        return;
    }
    if (smp.method() != wire::kMethodGetResp) return;
    const auto found = pending_.find(static_cast<uint32_t>(smp.transaction()));
    if (found == pending_.end()) return;  // an answer to one that was repeated or given up
    const Pending pending = found->second;
    deadlines_.erase({pending.deadline, found->first});
    pending_.erase(found);
    ++counters_.answered;
    take(now, pending.request, smp);
    next_phase(now);
}

void Manager::take(base::Instant now, const Request& request, const SmpBytes& smp) {
    if (smp.status() != wire::kStatusOk) {
        // A port that went down in between refuses a state; the next sweep sees it.
        if (request.attribute != wire::kSmpSmInfo) is_dirty_ = true;
        return;
    }
    if (request.is_set) return take_set(now, request, smp);
    switch (request.attribute) {
        case wire::kSmpNodeInfo: take_node(request, smp); break;
        case wire::kSmpPortInfo: take_port(request, smp); break;
        case wire::kSmpSmInfo: take_manager(request, smp); break;
        case wire::kSmpSwitchInfo: take_switch(now, request, smp); break;
        case wire::kSmpNodeDescription: {
            const auto description = *wire::parse<wire::NodeDescription>(smp.data());
            nodes_[request.node].description =
                std::string(description.text.begin(),
                            std::find(description.text.begin(), description.text.end(), '\0'));
            break;
        }
        default: break;
    }
}

void Manager::take_set(base::Instant now, const Request& request, const SmpBytes& smp) {
    if (request.attribute == wire::kSmpLinearForwardingTable) {
        auto& table = written_[nodes_[request.node].guid];
        const auto block = routing_.tables.block(switch_of_.at(request.node), request.modifier);
        const size_t first = size_t{request.modifier} * kLidsOfBlock;
        if (table.size() < first + kLidsOfBlock) table.resize(first + kLidsOfBlock, kNoPort);
        std::copy(block.begin(), block.end(), table.begin() + static_cast<ptrdiff_t>(first));
    } else if (request.attribute == wire::kSmpPortInfo) {
        take_port(request, smp);
    } else if (request.attribute == wire::kSmpSwitchInfo && phase_ == Phase::discover) {
        ask_ports(request.node);
    } else if (request.attribute == wire::kSmpSmInfo) {
        state_ = wire::kSmStandby;  // the other one took over
        poll_at_ = now + settings_.poll_interval;
    }
}

// A switch marks that one of its links changed. The mark is taken away before its ports are read,
// so that a change after that is seen by the next look. A manager that is not master yet leaves it
// to the master, unless nobody has ever written to the switch.
void Manager::take_switch(base::Instant, const Request& request, const SmpBytes& smp) {
    Found& found = nodes_[request.node];
    found.switch_info = *wire::parse<wire::SwitchInfo>(smp.data());
    if (phase_ == Phase::idle) {
        is_dirty_ |= found.switch_info.port_state_change;
        return;
    }
    const bool is_mine = state_ == wire::kSmMaster || found.switch_info.linear_top == 0;
    if (!found.switch_info.port_state_change) return ask_ports(request.node);
    if (is_mine) {
        ask({.node = request.node, .attribute = wire::kSmpSwitchInfo, .is_set = true});
        return;
    }
    is_dirty_ = true;
    ask_ports(request.node);
}

void Manager::ask_ports(uint32_t node) {
    for (uint32_t port = 0; port <= nodes_[node].port_count; ++port)
        ask({.node = node, .attribute = wire::kSmpPortInfo, .modifier = port});
}

void Manager::repress(const SmpBytes& trap) {
    const auto notice = *wire::parse<wire::Notice>(trap.data());
    for (uint32_t node = 0; node < nodes_.size(); ++node)
        if (nodes_[node].is_switch && lid_of(nodes_[node]) == notice.issuer_lid.value)
            repress_.push_back(node);
}

void Manager::take_node(const Request& request, const SmpBytes& smp) {
    const auto info = *wire::parse<wire::NodeInfo>(smp.data());
    // No node that there can be is none.
    if (info.port_count == 0 || info.port_count > kMaxPort || info.local_port > info.port_count)
        return;
    const auto [known, is_new] = by_guid_.try_emplace(
        info.node_type == wire::kNodeSwitch ? info.node_guid.value : info.port_guid.value,
        static_cast<uint32_t>(nodes_.size()));
    if (is_new) add_node(request, info);
    if (request.node != kNone) join(request.node, request.behind, known->second, info.local_port);
}

// A port of a channel adapter is a node of its own here: it has its own LID and its own cable.
void Manager::add_node(const Request& request, const wire::NodeInfo& info) {
    Found found;
    found.guid = info.node_guid.value;
    found.port_guid = info.port_guid.value;
    found.is_switch = info.node_type == wire::kNodeSwitch;
    found.port_count = info.port_count;
    if (request.node != kNone) {
        found.path = nodes_[request.node].path;
        found.path.push_back(request.behind);
        found.entry_port = info.local_port;
    }
    found.ports.resize(size_t{info.port_count} + 1);
    const auto node = static_cast<uint32_t>(nodes_.size());
    const uint8_t own_port = info.local_port;
    const bool is_switch = found.is_switch;
    nodes_.push_back(std::move(found));
    ask({.node = node, .attribute = wire::kSmpNodeDescription});
    if (!is_switch) {
        ask({.node = node, .attribute = wire::kSmpPortInfo, .modifier = own_port});
        return;
    }
    ask({.node = node, .attribute = wire::kSmpSwitchInfo});
}

void Manager::join(uint32_t node, uint8_t port, uint32_t peer, uint8_t peer_port) {
    if (port >= nodes_[node].ports.size() || peer_port >= nodes_[peer].ports.size()) return;
    nodes_[node].ports[port].peer = peer;
    nodes_[node].ports[port].peer_port = peer_port;
    nodes_[peer].ports[peer_port].peer = node;
    nodes_[peer].ports[peer_port].peer_port = port;
}

void Manager::take_port(const Request& request, const SmpBytes& smp) {
    Found& found = nodes_[request.node];
    const auto number = static_cast<uint8_t>(request.modifier);
    Port& port = found.ports[number];
    port.info = *wire::parse<PortInfo>(smp.data());
    port.is_known = true;
    if (phase_ != Phase::discover || number == 0 || !is_up(port.info)) return;
    // What is behind it was found already where the other end asked first.
    const bool is_own_port = !found.is_switch && !found.path.empty();
    const bool is_too_far = found.path.size() >= wire::kSmpMaxHops;
    if (port.peer == kNone && number != found.entry_port && !is_own_port && !is_too_far)
        ask({.node = request.node, .behind = number, .attribute = wire::kSmpNodeInfo});
}

void Manager::take_manager(const Request& request, const SmpBytes& smp) {
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
    base::Instant next = poll_at_;
    if (!deadlines_.empty()) next = std::min(next, deadlines_.begin()->first.first);
    return next;
}

void Manager::on_timer(base::Instant now) {
    while (!deadlines_.empty() && deadlines_.begin()->first.first <= now) {
        const uint32_t transaction = deadlines_.begin()->second;
        deadlines_.erase(deadlines_.begin());
        const Pending pending = pending_.at(transaction);
        pending_.erase(transaction);
        if (pending.tries < settings_.retries) {
            // Repeated at the end of the queue, under another number: an old answer is no answer.
            ++counters_.repeated;
            Request again = pending.request;
            const uint32_t number = ++transaction_;
            const base::Instant deadline = now + settings_.timeout;
            pending_[number] = {again, deadline, static_cast<uint8_t>(pending.tries + 1)};
            deadlines_[{deadline, number}] = number;
            resend_.push_back(number);
        } else {
            ++counters_.given_up;
            give_up(pending.request);
        }
    }
    if (now >= poll_at_ && phase_ == Phase::idle) {
        if (state_ == wire::kSmStandby) {
            poll_at_ = now + settings_.poll_interval;
            if (++polls_lost_ > settings_.polls_lost) {
                polls_lost_ = 0;
                state_ = wire::kSmDiscovering;
                return begin_sweep(now);
            }
            ask({.attribute = wire::kSmpSmInfo});
        } else if (state_ == wire::kSmMaster) {
            if (is_dirty_ || ++looks_ >= settings_.looks_a_sweep) return begin_sweep(now);
            poll_at_ = now + settings_.look_interval;
            look_around();
        }
    }
    next_phase(now);
}

// A light sweep: has a switch marked a change, or is one gone?
void Manager::look_around() {
    for (uint32_t node = 0; node < nodes_.size(); ++node)
        if (nodes_[node].is_switch) ask({.node = node, .attribute = wire::kSmpSwitchInfo});
}

void Manager::give_up(const Request& request) {
    // What was lost has to be looked at again; a manager that does not answer is none.
    if (request.attribute != wire::kSmpSmInfo) is_dirty_ = true;
}

void Manager::on_control(base::Instant now, uint32_t request) {
    if (request == wire::kSmHandover && state_ == wire::kSmStandby) {
        state_ = wire::kSmMaster;
        begin_sweep(now);
    }
    if (request == wire::kSmDisable) state_ = wire::kSmNotActive;
}

// --- the phases of a sweep -----------------------------------------------------------------------

void Manager::next_phase(base::Instant now) {
    if (phase_ == Phase::idle && state_ == wire::kSmMaster && is_dirty_ && queue_.empty() &&
        pending_.empty() && repress_.empty())
        return begin_sweep(now);
    while (phase_ != Phase::idle && queue_.empty() && pending_.empty()) {
        switch (phase_) {
            case Phase::discover:
                phase_ = Phase::ask_managers;
                ask_managers();
                break;
            case Phase::ask_managers: decide(now); break;
            case Phase::configure:
                phase_ = Phase::write_tables;
                route();
                write_tables();
                break;
            case Phase::write_tables:
                phase_ = Phase::arm;
                set_states(wire::kPortArmed);
                break;
            case Phase::arm:
                phase_ = Phase::activate;
                set_states(wire::kPortActive);
                break;
            case Phase::hand_over:
                if (state_ == wire::kSmMaster) return begin_sweep(now);  // nobody took it
                phase_ = Phase::idle;
                break;
            case Phase::activate: return end_sweep(now);
            case Phase::idle: break;
        }
    }
}

void Manager::end_sweep(base::Instant now) {
    phase_ = Phase::idle;
    ++activity_;
    looks_ = 0;
    poll_at_ = now + settings_.look_interval;
    if (is_dirty_) begin_sweep(now);
}

void Manager::ask_managers() {
    for (uint32_t node = 0; node < nodes_.size(); ++node) {
        if (nodes_[node].port_guid == settings_.port_guid) continue;
        for (const Port& port : nodes_[node].ports)
            if (port.is_known && (port.info.capability_mask.value & wire::kPortIsSm) != 0 &&
                !nodes_[node].is_switch) {
                ask({.node = node, .attribute = wire::kSmpSmInfo});
                break;
            }
    }
}

bool Manager::outranks(const wire::SmInfo& other) const {
    if (settings_.priority != other.priority) return settings_.priority > other.priority;
    return settings_.port_guid < other.guid.value;
}

// 14.4.1: a master that meets a standby of higher rank hands over; one that is still looking steps
// back for a master, and for anybody of higher rank.
void Manager::decide(base::Instant now) {
    for (const auto& [node, other] : managers_) {
        // An adapter with two ports is met twice: it may be this one.
        if (other.state == wire::kSmNotActive || other.guid.value == settings_.port_guid) continue;
        const bool is_better = !outranks(other);
        if (state_ == wire::kSmMaster && is_better) {
            phase_ = Phase::hand_over;
            master_path_ = nodes_[node].path;
            ask({.node = node,
                 .attribute = wire::kSmpSmInfo,
                 .modifier = wire::kSmHandover,
                 .is_set = true});
            poll_at_ = now + settings_.poll_interval;
            return;
        }
        if (state_ == wire::kSmDiscovering && (other.state == wire::kSmMaster || is_better)) {
            state_ = wire::kSmStandby;
            phase_ = Phase::idle;
            master_path_ = nodes_[node].path;
            polls_lost_ = 0;
            poll_at_ = now + settings_.poll_interval;
            return;
        }
    }
    state_ = wire::kSmMaster;
    phase_ = Phase::configure;
    configure();
}

// LIDs that are known stay; those that ports have already stay where nobody else has them.
void Manager::assign_lids() {
    std::set<uint16_t> taken;
    for (const auto& [guid, lid] : lids_) taken.insert(lid);
    for (const Found& found : nodes_) {
        if (lids_.contains(found.port_guid)) continue;
        uint16_t lid = 0;
        for (const Port& port : found.ports)
            if (port.is_known && port.info.lid.value != 0) lid = port.info.lid.value;
        if (lid != 0 && lid <= kMaxUnicastLid && taken.insert(lid).second)
            lids_[found.port_guid] = lid;
    }
    uint16_t next = 1;
    for (const Found& found : nodes_) {
        if (lids_.contains(found.port_guid)) continue;
        while (taken.contains(next)) ++next;
        if (next > kMaxUnicastLid) return;
        taken.insert(next);
        lids_[found.port_guid] = next;
    }
}

template <class Visit>
void Manager::for_each_link_port(Visit&& visit) {
    for (uint32_t node = 0; node < nodes_.size(); ++node) {
        const Found& found = nodes_[node];
        for (uint32_t number = 0; number < found.ports.size(); ++number)
            if (found.ports[number].is_known && (number == 0 || is_up(found.ports[number].info)))
                visit(node, static_cast<uint8_t>(number), found.ports[number].info);
    }
}

// A switch that knows no manager came up anew, with empty tables. That is seen before its ports are
// told of this one.
void Manager::forget_new_switches() {
    for (const Found& found : nodes_) {
        if (!found.is_switch || !found.ports[0].is_known ||
            found.ports[0].info.master_sm_lid.value != 0)
            continue;
        written_.erase(found.guid);
        written_maps_.erase(found.guid);
    }
}

void Manager::configure() {
    assign_lids();
    forget_new_switches();
    for_each_link_port([this](uint32_t node, uint8_t number, const PortInfo& now) {
        const Request request{.node = node,
                              .attribute = wire::kSmpPortInfo,
                              .modifier = number,
                              .is_set = true,
                              .wanted_state = wire::kPortNoChange};
        const PortInfo wanted = wanted_port(request);
        const bool is_as_wanted = wanted.lid.value == now.lid.value &&
                                  wanted.master_sm_lid.value == now.master_sm_lid.value &&
                                  wanted.m_key.value == now.m_key.value &&
                                  wanted.operational_vls == now.operational_vls &&
                                  wanted.neighbor_mtu == now.neighbor_mtu;
        if (!is_as_wanted) ask(request);
    });
}

// The fabric as it was found, for the engines: a port of an adapter is a host. Nodes stand in the
// order of their LIDs, which stay: so a switch has the same number after each sweep.
void Manager::route() {
    topology::Graph graph;
    LidOwners owners(lids_.empty() ? 0 : highest_lid() + 1u, {kNone, 0});
    switch_nodes_.clear();
    switch_of_.clear();
    std::vector<uint32_t> order(nodes_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [this](uint32_t node) { return lid_of(nodes_[node]); });
    std::vector<uint32_t> place(nodes_.size());
    for (const uint32_t node : order) {
        const Found& found = nodes_[node];
        topology::Node entry;
        entry.name = text("n", node);
        entry.kind = found.is_switch ? topology::NodeKind::switch_node : topology::NodeKind::host;
        entry.port_count = found.port_count;
        place[node] = graph.add(std::move(entry));
        const uint16_t lid = lid_of(found);
        uint16_t port = 0;
        for (uint32_t number = 1; number < found.ports.size() && !found.is_switch; ++number)
            if (found.ports[number].peer != kNone) port = static_cast<uint16_t>(number - 1);
        if (lid != 0) owners[lid] = {place[node], port};
        if (!found.is_switch) continue;
        switch_of_[node] = static_cast<uint32_t>(switch_nodes_.size());
        switch_nodes_.push_back(node);
    }
    for (const uint32_t node : order) add_cables(node, place, graph);
    ++routings_;
    std::optional<Subnet> before = std::exchange(subnet_, std::move(*Subnet::make(graph, owners)));
    std::vector<uint64_t> switches;
    for (const uint32_t node : switch_nodes_) switches.push_back(nodes_[node].guid);
    const bool is_known = std::exchange(routed_switches_, switches) == switches;
    if (is_known && before && has_only_lost_links(*before, *subnet_))
        routing_ = repair(*before, *subnet_, *engine_, settings_.routing, routing_).routing;
    else
        route_anew();
}

void Manager::route_anew() {
    if (settings_.engine != nullptr) {
        routing_ = settings_.engine->route(*subnet_, settings_.routing);
        engine_ = settings_.engine;
    } else {
        ChosenRouting chosen = route_by_shape(*subnet_, settings_.routing);
        routing_ = std::move(chosen.routing);
        engine_ = chosen.engine;
    }
    engine_name_ = engine_->name;
}

uint16_t Manager::highest_lid() const {
    uint16_t highest = 0;
    for (const auto& [guid, lid] : lids_) highest = std::max(highest, lid);
    return highest;
}

void Manager::add_cables(uint32_t node, const std::vector<uint32_t>& place,
                         topology::Graph& graph) const {
    for (uint32_t number = 1; number < nodes_[node].ports.size(); ++number) {
        const Port& port = nodes_[node].ports[number];
        const bool is_mine =
            port.peer != kNone &&
            std::pair(node, number) < std::pair(port.peer, uint32_t{port.peer_port});
        if (!is_mine || port.peer_port == 0) continue;
        // Both ends have to say so: a node that lies joins nobody.
        const Port& other = nodes_[port.peer].ports[port.peer_port];
        if (other.peer != node || other.peer_port != number) continue;
        topology::Cable cable;
        cable.a = {place[node], static_cast<uint16_t>(number - 1)};
        cable.b = {place[port.peer], static_cast<uint16_t>(port.peer_port - 1)};
        graph.cables.push_back(cable);
    }
}

// Blocks that differ from what was written last; all of a switch that is new.
void Manager::write_tables() {
    const uint32_t blocks = (subnet_->lid_end() + kLidsOfBlock - 1) / kLidsOfBlock;
    for (uint32_t s = 0; s < switch_nodes_.size(); ++s) {
        const uint32_t node = switch_nodes_[s];
        const Found& found = nodes_[node];
        if (found.switch_info.linear_top != subnet_->lid_end() - 1)
            ask({.node = node, .attribute = wire::kSmpSwitchInfo, .is_set = true});
        const std::vector<uint8_t>& before = written_[found.guid];
        for (uint32_t n = 0; n < blocks; ++n) {
            const auto block = routing_.tables.block(s, n);
            const bool is_same =
                before.size() >= (n + 1) * kLidsOfBlock &&
                std::equal(block.begin(), block.end(), before.begin() + n * kLidsOfBlock);
            if (!is_same)
                ask({.node = node,
                     .attribute = wire::kSmpLinearForwardingTable,
                     .modifier = n,
                     .is_set = true});
        }
    }
    if (routing_.lanes.count > 1) write_lanes();
}

// After all tables: a packet without a route is worse off than one in a wrong lane.
void Manager::write_lanes() {
    for (uint32_t s = 0; s < switch_nodes_.size(); ++s) {
        const uint32_t node = switch_nodes_[s];
        const Found& found = nodes_[node];
        base::Hash hash;
        for (uint32_t in = 0; in <= found.port_count; ++in)
            for (uint32_t out = 1; out <= found.port_count; ++out)
                for (uint8_t level = 0; level < kServiceLevels; ++level)
                    hash.add(routing_.lanes.rule.lane(
                        subnet_->port_index(s, static_cast<uint8_t>(in)),
                        subnet_->port_index(s, static_cast<uint8_t>(out)), level));
        const auto known = written_maps_.find(found.guid);
        if (known != written_maps_.end() && known->second == hash.value()) continue;
        written_maps_[found.guid] = hash.value();
        for (uint32_t in = 0; in <= found.port_count; ++in)
            for (uint32_t out = 1; out <= found.port_count; ++out)
                ask({.node = node,
                     .attribute = wire::kSmpSlToVlMappingTable,
                     .modifier = in << 8 | out,
                     .is_set = true});
    }
}

void Manager::set_states(wire::PortState state) {
    for_each_link_port([&](uint32_t node, uint8_t number, const PortInfo& now) {
        if (number == 0 || now.port_state + 1 != state) return;
        ask({.node = node,
             .attribute = wire::kSmpPortInfo,
             .modifier = number,
             .is_set = true,
             .wanted_state = state});
    });
}

}  // namespace tulle::control
