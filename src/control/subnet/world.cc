#include "control/subnet/world.h"

#include <algorithm>

#include "topology/ibnetdiscover.h"

namespace tulle::control {
namespace {

using topology::CableEnd;
using topology::Graph;

// The size of a MAD for counters: LRH, BTH, DETH, the MAD and the ICRC, in words of four bytes.
constexpr uint64_t kMadWords = (8 + 12 + 8 + wire::kMadSize + 4) / 4;
constexpr uint8_t kDataLane = 0;
constexpr base::Duration kAnswerLimit{30'000'000'000'000};  // 30 s
// Transaction numbers start here, above those of managers, which count from 1.
constexpr uint64_t kAskedTransactions = uint64_t{1} << 48;

Agent agent_of(const topology::Node& node, uint64_t guid) {
    return Agent(
        AgentNode{!node.is_host(), static_cast<uint8_t>(node.port_count), guid, node.name});
}

bool are_ends_active(const topology::Cable& cable, const std::vector<Agent>& agents) {
    for (const CableEnd end : {cable.a, cable.b})
        if (agents[end.node].port(static_cast<uint8_t>(end.port + 1)).port_state !=
            wire::kPortActive)
            return false;
    return true;
}

BlockWrite write_of(base::Instant now, uint32_t node, const Agent& agent, uint32_t block) {
    BlockWrite write{now, node, block, {}};
    for (uint32_t i = 0; i < kLidsOfBlock; ++i)
        write.ports[i] = agent.route(static_cast<uint16_t>(block * kLidsOfBlock + i));
    return write;
}

bool loses(const WorldSettings& settings, uint32_t cable, bool is_from_b,
           base::RandomStream& random) {
    if (settings.loss_per_million > 0 && random.chance(settings.loss_per_million, 1'000'000))
        return true;
    const uint64_t loss = settings.losses.empty() ? 0 : settings.losses[cable][is_from_b ? 1 : 0];
    return loss > 0 && random.chance(loss, 1'000'000'000'000);
}

// Follows the tables over cables that are not down.
Reach reach_over(const Graph& graph, const topology::Ports& ports, const std::vector<Agent>& agents,
                 const std::vector<bool>& down) {
    LidOwners owners;
    for (uint32_t node = 0; node < graph.nodes.size(); ++node) {
        const bool is_host = graph.nodes[node].is_host();
        for (uint16_t port = 0; port < graph.nodes[node].port_count; ++port) {
            const topology::Ports::Link& link = ports.at({node, port});
            if (!link.is_cabled() || down[link.cable]) continue;
            const wire::PortInfo& info =
                agents[node].port(is_host ? static_cast<uint8_t>(port + 1) : uint8_t{0});
            const uint32_t end = info.lid.value + (1u << info.lmc);
            if (info.lid.value == 0) continue;
            if (end > owners.size()) owners.resize(end, {kNone, 0});
            for (uint32_t lid = info.lid.value; lid < end; ++lid)
                owners[lid] = {node, is_host ? port : uint16_t{0}};
        }
    }
    const auto subnet = Subnet::make(graph, owners, down);
    ForwardingTables tables(subnet->switch_count(), subnet->lid_end());
    for (uint32_t s = 0; s < subnet->switch_count(); ++s)
        for (uint32_t lid = 0; lid < subnet->lid_end(); ++lid)
            tables.set(s, lid, agents[subnet->node(s)].route(static_cast<uint16_t>(lid)));
    return check_reach(*subnet, tables);
}

}  // namespace

World::World(const Graph& graph, WorldSettings settings)
    : graph_(graph),
      ports_(graph_),
      settings_(settings),
      random_({.seed = settings.seed, .kind = 17, .index = 0}),
      free_at_(graph.nodes.size()),
      timer_(graph.nodes.size(), base::Instant::never()),
      guids_(topology::node_guids(graph)),
      cable_whole_(graph.cables.size(), true),
      node_up_(graph.nodes.size(), true),
      cable_up_(graph.cables.size(), true),
      is_ready_(graph.cables.size()) {
    for (uint32_t node = 0; node < graph.nodes.size(); ++node) {
        agents_.push_back(agent_of(graph.nodes[node], guids_[node]));
        gmps_.add_node(agents_.back().is_switch(), agents_.back().node().port_count);
    }
    for (const topology::Cable& cable : graph.cables)
        for (const CableEnd end : {cable.a, cable.b})
            agents_[end.node].set_link(now_, static_cast<uint8_t>(end.port + 1), true,
                                       cable.rate_bps);
}

size_t World::add_manager(uint32_t node, ManagerSettings settings, LidsByGuid lids) {
    settings.port_guid = agents_[node].node().guid + 1;
    Living living;
    living.manager = std::make_unique<Manager>(std::move(settings), std::move(lids));
    living.administration = std::make_unique<Administration>(*living.manager);
    living.manager->set_groups(now_, living.administration->groups());
    living.node = node;
    managers_.push_back(std::move(living));
    agents_[node].set_manager(now_, managers_.back().manager->info());
    return managers_.size() - 1;
}

void World::start_manager(size_t number) {
    managers_[number].manager->start(now_);
    touch(number);
}

void World::kill_manager(size_t number) {
    agents_[managers_[number].node].set_manager(now_, std::nullopt);
    sent_by_the_dead_ += managers_[number].manager->counters().sent;
    gmps_.set_administration(managers_[number].node, nullptr);
    managers_[number].administration.reset();
    managers_[number].manager.reset();
}

void World::set_cable(uint32_t cable, bool is_up) {
    cable_whole_[cable] = is_up;
    change_cable(cable);
}

void World::set_switch(uint32_t node, bool is_up) {
    if (node_up_[node] == is_up) return;
    node_up_[node] = is_up;
    sent_by_the_dead_ += agents_[node].counters().traps;
    agents_[node] = agent_of(graph_.nodes[node], guids_[node]);
    gmps_.congestion(node) = CongestionAgent(true, agents_[node].node().port_count);
    timer_[node] = base::Instant::never();
    for (const auto& link : ports_.of(node))
        if (link.is_cabled()) change_cable(link.cable);
}

void World::change_cable(uint32_t cable) {
    const CableEnd a = graph_.cables[cable].a;
    const CableEnd b = graph_.cables[cable].b;
    const bool is_up = cable_whole_[cable] && node_up_[a.node] && node_up_[b.node];
    if (cable_up_[cable] == is_up) return;
    cable_up_[cable] = is_up;
    is_ready_[cable] = false;
    for (const CableEnd end : {a, b}) {
        if (settings_.light.ps == 0) {
            set_link(end, is_up);
            continue;
        }
        ++lights_pending_;
        agenda_.add({.at = now_ + settings_.light,
                     .kind = Kind::light,
                     .who = end.node,
                     .port = static_cast<uint8_t>(end.port),
                     .is_up = is_up});
    }
}

void World::set_link(CableEnd end, bool is_up) {
    const auto port = static_cast<uint8_t>(end.port + 1);
    if (!is_up) gmps_.performance(end.node).count(port, PortCounter::link_downed);
    agents_[end.node].set_link(now_, port, is_up, graph_.cables[ports_.at(end).cable].rate_bps);
    drain(end.node);
}

// Handles the next event up to `limit`; false: there is none.
bool World::step(base::Instant limit) {
    const auto event = agenda_.take_until(limit);
    if (event) handle(*event);
    return event.has_value();
}

bool World::run_until_settled(base::Instant limit) {
    while (step(limit)) {
        const bool is_settled =
            std::any_of(managers_.begin(), managers_.end(), [](const Living& living) {
                return living.manager != nullptr && living.manager->is_settled();
            });
        if (is_settled && under_way_ == 0) return true;
    }
    return false;
}

bool World::is_at_rest() const {
    const auto rests = [](const Living& living) {
        return living.manager == nullptr || living.manager->is_at_rest();
    };
    return under_way_ == 0 && lights_pending_ == 0 && std::ranges::all_of(managers_, rests) &&
           std::ranges::none_of(agents_, &Agent::has_trap);
}

bool World::run_until_at_rest(base::Instant limit) {
    while (!is_at_rest())
        if (!step(limit)) return false;
    return true;
}

uint64_t World::smps() const {
    uint64_t smps = sent_by_the_dead_;
    for (const Living& living : managers_)
        if (living.manager != nullptr) smps += living.manager->counters().sent;
    for (const Agent& agent : agents_) smps += agent.counters().traps;
    return smps;
}

void World::run_until(base::Instant limit) {
    while (step(limit)) continue;
    now_ = std::max(now_, limit);
}

void World::handle(const Event& event) {
    now_ = event.at;
    switch (event.kind) {
        case Kind::arrival: arrive(event); break;
        case Kind::manager_sends: {
            Living& living = managers_[event.who];
            living.sends = false;
            if (living.manager == nullptr) break;
            if (const auto out = living.manager->poll_transmit(now_)) {
                living.free_at = now_ + settings_.manage;
                if (out->to != 0)
                    send_gmp(living.node, out->to, out->mad);
                else
                    agents_[living.node].send(now_, out->mad);
                drain(living.node);
            }
            touch(event.who);
            break;
        }
        case Kind::node_timer:
            timer_[event.who] = base::Instant::never();
            agents_[event.who].on_timer(now_);
            drain(event.who);
            break;
        case Kind::manager_timer: {
            Living& living = managers_[event.who];
            if (living.timer == event.at) living.timer = base::Instant::never();
            if (living.manager == nullptr) break;
            living.manager->on_timer(now_);
            touch(event.who);
            break;
        }
        case Kind::light:
            --lights_pending_;
            set_link({event.who, event.port}, event.is_up);
            break;
        case Kind::gmp_timer:
            if (gmp_timer_[event.who] == event.at) gmp_timer_.erase(event.who);
            gmps_.on_timer(now_, event.who);
            drain_gmps(event.who);
            break;
    }
}

void World::arrive(const Event& event) {
    const MadBytes smp = pool_.take(event.smp);
    --under_way_;
    if (!node_up_[event.who]) return;
    Agent& agent = agents_[event.who];
    gmps_.performance(event.who).count(event.port, PortCounter::rcv_packets);
    gmps_.performance(event.who).count(event.port, PortCounter::unicast_rcv_packets);
    gmps_.performance(event.who).count(event.port, PortCounter::rcv_data, kMadWords);
    if (event.to != 0 && !agent.has_lid(event.port, event.to)) {
        const uint8_t out = agent.is_switch() ? agent.route(event.to) : kNoPort;
        if (out == kNoPort || out == 0 || out > agent.node().port_count)
            return gmps_.performance(event.who).count(event.port,
                                                      PortCounter::rcv_switch_relay_errors);
        return transmit(event.who, {out, event.to, event.from, smp}, event.lane);
    }
    if (!smp.is_smp()) {
        // Lane 15 carries only SMPs.
        if (event.lane == kManagementLane)
            return gmps_.performance(event.who).count(event.port, PortCounter::vl15_dropped);
        return take_gmp(event.who, event.from, smp);
    }
    const uint64_t writes = agent.table_writes();
    agent.on_smp(now_, event.port, smp, event.from, event.lane);
    if (agent.table_writes() != writes)
        writes_.blocks.push_back(write_of(now_, event.who, agent, smp.modifier()));
    if (smp.method() == wire::kMethodSet && smp.attribute() == wire::kSmpPortInfo)
        note_active(event.who);
    if (keeps_sent_ && agent.is_switch() && smp.method() == wire::kMethodSet &&
        smp.attribute() == wire::kSmpSlToVlMappingTable)
        writes_.lanes.push_back({now_, event.who, agent.tables().lane_maps()});
    drain(event.who);
}

// --- MADs on QP 1 --------------------------------------------------------------------------------

void World::take_gmp(uint32_t node, uint16_t from, const MadBytes& mad) {
    switch (gmps_.take(now_, node, from, mad)) {
        case Gmps::Matter::none: break;
        case Gmps::Matter::for_manager: give_to_manager(node, mad); break;
        case Gmps::Matter::groups:
            for (size_t i = 0; i < managers_.size(); ++i) {
                if (managers_[i].node != node || managers_[i].manager == nullptr) continue;
                managers_[i].manager->set_groups(now_, managers_[i].administration->groups());
                touch(i);
            }
    }
    drain_gmps(node);
}

void World::send_gmp(uint32_t node, uint16_t to, const MadBytes& mad) {
    Agent& agent = agents_[node];
    if (agent.has_lid(1, to)) {  // to itself
        ++under_way_;
        agenda_.add({.at = now_ + settings_.relay,
                     .kind = Kind::arrival,
                     .who = node,
                     .port = 1,
                     .to = to,
                     .from = agent.lid(),
                     .lane = kDataLane,
                     .smp = pool_.keep(mad)});
        return;
    }
    const uint8_t out = agent.is_switch() ? agent.route(to) : uint8_t{1};
    if (out == kNoPort || out == 0 || out > agent.node().port_count) return;
    transmit(node, {out, to, agent.lid(), mad}, kDataLane);
}

void World::drain_gmps(uint32_t node) {
    while (const auto out = gmps_.poll_transmit(now_, node)) send_gmp(node, out->to, out->mad);
    base::Instant next = gmps_.next_deadline(node);
    if (next == base::Instant::never()) return;
    next = std::max(next, now_);
    const auto known = gmp_timer_.find(node);
    if (known != gmp_timer_.end() && known->second <= next) return;
    gmp_timer_[node] = next;
    agenda_.add({.at = next, .kind = Kind::gmp_timer, .who = node});
}

SaAnswer World::ask(uint32_t node, const SaQuestion& question) {
    SaClient& client = gmps_.client(node);
    client.ask(now_, agents_[node].port(1).master_sm_lid.value, question);
    drain_gmps(node);
    const base::Instant limit = now_ + kAnswerLimit;
    while (!client.answer() && step(limit)) continue;
    return client.answer().value_or(SaAnswer{});
}

std::optional<MadBytes> World::ask_agent(uint32_t node, uint16_t to, const MadBytes& mad) {
    auto request = *wire::parse<wire::Mad>(mad.bytes());
    request.header.transaction_id.value = kAskedTransactions + ++asked_;
    gmps_.expect(request.header.transaction_id.value);
    MadBytes bytes;
    wire::write(request, bytes.bytes());
    send_gmp(node, to, bytes);
    const base::Instant limit = now_ + kAnswerLimit;
    while (!gmps_.answer() && under_way_ > 0 && step(limit)) continue;
    return gmps_.answer();
}

void World::inject(uint32_t node, uint8_t port, uint8_t lane, const MadBytes& mad) {
    ++under_way_;
    agenda_.add({.at = now_,
                 .kind = Kind::arrival,
                 .who = node,
                 .port = port,
                 .lane = lane,
                 .smp = pool_.keep(mad)});
}

void World::note_active(uint32_t node) {
    for (const auto& link : ports_.of(node)) {
        if (!link.is_cabled() || is_ready_[link.cable] ||
            !are_ends_active(graph_.cables[link.cable], agents_))
            continue;
        is_ready_[link.cable] = true;
        ready_.push_back({now_, link.cable});
    }
}

// Sends what a node has queued, and passes to a manager what is addressed to it.
void World::drain(uint32_t node) {
    while (const auto out = agents_[node].poll_transmit()) {
        if (out->port == 0)
            give_to_manager(node, out->smp);
        else
            transmit(node, *out);
    }
    for (size_t i = 0; i < managers_.size(); ++i) {
        if (managers_[i].node != node || managers_[i].manager == nullptr) continue;
        if (const auto request = agents_[node].poll_manager_control()) {
            managers_[i].manager->on_control(now_, *request);
            touch(i);
        }
    }
    if (agents_[node].poll_reregister()) {
        gmps_.register_again(node, agents_[node].port(1).master_sm_lid.value);
        drain_gmps(node);
    }
    set_timer(node);
}

void World::give_to_manager(uint32_t node, const MadBytes& smp) {
    for (size_t i = 0; i < managers_.size(); ++i) {
        if (managers_[i].node != node || managers_[i].manager == nullptr) continue;
        const bool is_trap = smp.is_smp() && smp.method() == wire::kMethodTrap;
        if (is_trap && managers_[i].manager->state() == wire::kSmMaster)
            managers_[i].administration->on_trap(*wire::parse<wire::Notice>(smp.data()));
        managers_[i].manager->on_mad(now_, smp);
        touch(i);
    }
}

void World::transmit(uint32_t node, const SmpOut& out, uint8_t lane) {
    const bool answers = out.smp.is_directed() && out.smp.method() == wire::kMethodGetResp &&
                         out.smp.hop_pointer() == out.smp.hop_count();
    free_at_[node] =
        std::max(free_at_[node], now_) + (answers ? settings_.answer : settings_.relay);
    const topology::Ports::Link& link = ports_.at({node, static_cast<uint16_t>(out.port - 1)});
    PerformanceAgent& performance = gmps_.performance(node);
    if (!link.is_cabled() || !cable_up_[link.cable])
        return performance.count(out.port, PortCounter::xmit_discards);
    if (keeps_sent_)
        sent_.push_back(
            {free_at_[node], {node, static_cast<uint16_t>(out.port - 1)}, kMadPacketBytes});
    performance.count(out.port, PortCounter::xmit_packets);
    performance.count(out.port, PortCounter::unicast_xmit_packets);
    performance.count(out.port, PortCounter::xmit_data, kMadWords);
    const auto peer_port = static_cast<uint8_t>(link.peer.port + 1);
    const bool is_from_b = graph_.cables[link.cable].b.node == node &&
                           graph_.cables[link.cable].b.port + 1 == out.port;
    if (loses(settings_, link.cable, is_from_b, random_))
        return gmps_.performance(link.peer.node).count(peer_port, PortCounter::rcv_errors);
    ++under_way_;
    const base::Duration delay =
        settings_.cables.empty() ? settings_.cable : settings_.cables[link.cable];
    agenda_.add({.at = free_at_[node] + delay,
                 .kind = Kind::arrival,
                 .who = link.peer.node,
                 .port = peer_port,
                 .to = out.to,
                 .from = out.from,
                 .lane = lane,
                 .smp = pool_.keep(out.smp)});
}

// Call it after any event of a manager: updates its agent's SMInfo, lets it send, and sets its
// timer.
void World::touch(size_t number) {
    Living& living = managers_[number];
    if (living.manager == nullptr) return;
    const wire::SmInfo info = living.manager->info();
    agents_[living.node].set_manager(now_, info);
    const bool is_master = info.state == wire::kSmMaster;
    if (is_master && !living.was_master) {  // it knows nothing that was registered elsewhere
        living.administration = std::make_unique<Administration>(*living.manager);
        living.manager->set_groups(now_, living.administration->groups());
    }
    living.was_master = is_master;
    gmps_.set_administration(living.node, is_master ? living.administration.get() : nullptr);
    if (info.activity_count != living.sweeps) {
        living.sweeps = info.activity_count;
        living.administration->on_sweep(now_);
        drain_gmps(living.node);
    }
    const SubnetPlan& plan = living.manager->plan();
    if (plan.routings() != living.routings) {
        living.routings = plan.routings();
        const ForwardingTables& tables = plan.routing().tables;
        const auto entries = int64_t{tables.switch_count()} * tables.lid_end();
        living.free_at = std::max(living.free_at, now_) + settings_.route * entries;
    }
    const auto who = static_cast<uint32_t>(number);
    if (!living.sends && living.manager->has_something_to_send()) {
        living.sends = true;
        agenda_.add(
            {.at = std::max(now_, living.free_at), .kind = Kind::manager_sends, .who = who});
    }
    const base::Instant next = std::max(living.manager->next_deadline(), now_);
    if (living.manager->next_deadline() != base::Instant::never() && next < living.timer) {
        living.timer = next;
        agenda_.add({.at = next, .kind = Kind::manager_timer, .who = who});
    }
}

void World::set_timer(uint32_t node) {
    const base::Instant next = agents_[node].next_deadline();
    if (next == base::Instant::never() || next >= timer_[node]) return;
    timer_[node] = next;
    agenda_.add({.at = std::max(next, now_), .kind = Kind::node_timer, .who = node});
}

bool World::all_links_are_active() const {
    for (uint32_t cable = 0; cable < graph_.cables.size(); ++cable)
        if (cable_up_[cable] && !are_ends_active(graph_.cables[cable], agents_)) return false;
    return true;
}

Reach World::reach() const {
    std::vector<bool> down(cable_up_.size());
    for (size_t i = 0; i < down.size(); ++i) down[i] = !cable_up_[i];
    return reach_over(graph_, ports_, agents_, down);
}

// Paths do not pass through hosts.
Reach World::reach_from(uint64_t port_guid) const {
    std::vector<bool> down(cable_up_.size(), true);
    std::vector<bool> is_in(agents_.size());
    std::vector<uint32_t> switches;
    const auto add = [&](const topology::Ports::Link& link) {
        if (!link.is_cabled() || !cable_up_[link.cable]) return;
        down[link.cable] = false;
        if (is_in[link.peer.node] || graph_.nodes[link.peer.node].is_host()) return;
        is_in[link.peer.node] = true;
        switches.push_back(link.peer.node);
    };
    for (uint32_t node = 0; node < agents_.size(); ++node)
        if (guids_[node] + 1 == port_guid) add(ports_.at({node, 0}));
    for (size_t i = 0; i < switches.size(); ++i)
        for (const auto& link : ports_.of(switches[i])) add(link);
    return reach_over(graph_, ports_, agents_, down);
}

}  // namespace tulle::control
