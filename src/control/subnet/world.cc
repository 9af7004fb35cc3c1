#include "control/subnet/world.h"

#include <algorithm>

#include "topology/ibnetdiscover.h"

namespace tulle::control {

using topology::CableEnd;
using topology::Graph;

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
    for (uint32_t node = 0; node < graph.nodes.size(); ++node) agents_.push_back(make_agent(node));
    for (const topology::Cable& cable : graph.cables)
        for (const CableEnd end : {cable.a, cable.b})
            agents_[end.node].set_link(now_, static_cast<uint8_t>(end.port + 1), true);
}

Agent World::make_agent(uint32_t node) const {
    const topology::Node& described = graph_.nodes[node];
    return Agent(AgentNode{!described.is_host(), static_cast<uint8_t>(described.port_count),
                           guids_[node], described.name});
}

size_t World::add_manager(uint32_t node, ManagerSettings settings, LidsByGuid lids) {
    settings.port_guid = agents_[node].node().guid + 1;
    Living living;
    living.manager = std::make_unique<Manager>(settings, std::move(lids));
    living.node = node;
    managers_.push_back(std::move(living));
    agents_[node].set_manager(managers_.back().manager->info());
    return managers_.size() - 1;
}

void World::start_manager(size_t number) {
    managers_[number].manager->start(now_);
    touch(number);
}

void World::kill_manager(size_t number) {
    agents_[managers_[number].node].set_manager(std::nullopt);
    sent_by_the_dead_ += managers_[number].manager->counters().sent;
    managers_[number].manager.reset();
}

void World::set_cable(uint32_t cable, bool is_up) {
    cable_whole_[cable] = is_up;
    change_cable(cable);
}

void World::set_switch(uint32_t node, bool is_up) {
    if (node_up_[node] == is_up) return;
    node_up_[node] = is_up;
    if (is_up) {
        agents_[node] = make_agent(node);
        timer_[node] = base::Instant::never();
    }
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
        push({.at = now_ + settings_.light,
              .kind = Kind::light,
              .who = end.node,
              .port = static_cast<uint8_t>(end.port),
              .is_up = is_up});
    }
}

void World::set_link(CableEnd end, bool is_up) {
    agents_[end.node].set_link(now_, static_cast<uint8_t>(end.port + 1), is_up);
    drain(end.node);
}

void World::push(Event event) {
    event.order = ++order_;
    queue_.push(event);
}

bool World::run_until_settled(base::Instant limit) {
    while (!queue_.empty() && queue_.top().at <= limit) {
        const Event event = queue_.top();
        queue_.pop();
        handle(event);
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
    while (!is_at_rest()) {
        if (queue_.empty() || queue_.top().at > limit) return false;
        const Event event = queue_.top();
        queue_.pop();
        handle(event);
    }
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
    while (!queue_.empty() && queue_.top().at <= limit) {
        const Event event = queue_.top();
        queue_.pop();
        handle(event);
    }
    now_ = std::max(now_, limit);
}

void World::handle(const Event& event) {
    now_ = event.at;
    ++events_;
    switch (event.kind) {
        case Kind::arrival: arrive(event); break;
        case Kind::manager_sends: {
            Living& living = managers_[event.who];
            living.sends = false;
            if (living.manager == nullptr) break;
            if (const auto smp = living.manager->poll_transmit(now_)) {
                living.free_at = now_ + settings_.manage;
                agents_[living.node].send(now_, *smp);
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
    }
}

void World::arrive(const Event& event) {
    const SmpBytes smp = pool_[event.smp];
    free_.push_back(event.smp);
    --under_way_;
    Agent& agent = agents_[event.who];
    const bool is_by_lid = event.to != 0 && event.to != agent.lid();
    if (is_by_lid && agent.is_switch()) {
        const uint8_t out = agent.route(event.to);
        if (out != kNoPort && out != 0) transmit(event.who, {out, event.to, smp});
        return;
    }
    if (is_by_lid) return;
    const uint64_t writes = agent.table_writes();
    agent.on_smp(now_, event.port, smp);
    if (agent.table_writes() != writes) note_write(event.who, smp);
    if (smp.method() == wire::kMethodSet && smp.attribute() == wire::kSmpPortInfo)
        note_active(event.who);
    drain(event.who);
}

void World::note_write(uint32_t node, const SmpBytes& smp) {
    BlockWrite write{now_, node, smp.modifier(), {}};
    for (uint32_t i = 0; i < kLidsOfBlock; ++i)
        write.ports[i] = agents_[node].route(static_cast<uint16_t>(write.block * kLidsOfBlock + i));
    block_writes_.push_back(write);
}

void World::note_active(uint32_t node) {
    for (const auto& link : ports_.of(node)) {
        if (!link.is_cabled() || is_ready_[link.cable] || !is_active(link.cable)) continue;
        is_ready_[link.cable] = true;
        ready_.push_back({now_, link.cable});
    }
}

// Takes from a node what it has to send, and gives a manager what is for it.
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
    set_timer(node);
}

void World::give_to_manager(uint32_t node, const SmpBytes& smp) {
    for (size_t i = 0; i < managers_.size(); ++i) {
        if (managers_[i].node != node || managers_[i].manager == nullptr) continue;
        managers_[i].manager->on_smp(now_, smp);
        touch(i);
    }
}

void World::transmit(uint32_t node, const SmpOut& out) {
    const bool answers =
        out.smp.method() == wire::kMethodGetResp && out.smp.hop_pointer() == out.smp.hop_count();
    free_at_[node] =
        std::max(free_at_[node], now_) + (answers ? settings_.answer : settings_.relay);
    const topology::Ports::Link& link = ports_.at({node, static_cast<uint16_t>(out.port - 1)});
    if (!link.is_cabled() || !cable_up_[link.cable]) return;
    if (settings_.loss_per_million > 0 && random_.chance(settings_.loss_per_million, 1'000'000)) {
        ++lost_;
        return;
    }
    ++under_way_;
    push({.at = free_at_[node] + delay(link.cable),
          .kind = Kind::arrival,
          .who = link.peer.node,
          .port = static_cast<uint8_t>(link.peer.port + 1),
          .to = out.to,
          .smp = keep(out.smp)});
}

uint32_t World::keep(const SmpBytes& smp) {
    if (free_.empty()) {
        pool_.push_back(smp);
        return static_cast<uint32_t>(pool_.size() - 1);
    }
    const uint32_t place = free_.back();
    free_.pop_back();
    pool_[place] = smp;
    return place;
}

// After whatever happened to a manager: its agent knows its state, it sends when it may, and its
// timer is set.
void World::touch(size_t number) {
    Living& living = managers_[number];
    if (living.manager == nullptr) return;
    agents_[living.node].set_manager(living.manager->info());
    if (const uint64_t routings = living.manager->routings(); routings != living.routings) {
        living.routings = routings;
        const auto entries = static_cast<int64_t>(living.manager->entries());
        living.free_at = std::max(living.free_at, now_) + settings_.route * entries;
    }
    const auto who = static_cast<uint32_t>(number);
    if (!living.sends && living.manager->has_something_to_send()) {
        living.sends = true;
        push({.at = std::max(now_, living.free_at), .kind = Kind::manager_sends, .who = who});
    }
    const base::Instant next = std::max(living.manager->next_deadline(), now_);
    if (living.manager->next_deadline() != base::Instant::never() && next < living.timer) {
        living.timer = next;
        push({.at = next, .kind = Kind::manager_timer, .who = who});
    }
}

void World::set_timer(uint32_t node) {
    const base::Instant next = agents_[node].next_deadline();
    if (next == base::Instant::never() || next >= timer_[node]) return;
    timer_[node] = next;
    push({.at = std::max(next, now_), .kind = Kind::node_timer, .who = node});
}

bool World::is_active(uint32_t cable) const {
    for (const CableEnd end : {graph_.cables[cable].a, graph_.cables[cable].b})
        if (agents_[end.node].port(static_cast<uint8_t>(end.port + 1)).port_state !=
            wire::kPortActive)
            return false;
    return true;
}

bool World::all_links_are_active() const {
    for (uint32_t cable = 0; cable < graph_.cables.size(); ++cable)
        if (cable_up_[cable] && !is_active(cable)) return false;
    return true;
}

Reach World::reach() const {
    LidOwners owners;
    for (uint32_t node = 0; node < graph_.nodes.size(); ++node) {
        const bool is_host = graph_.nodes[node].is_host();
        for (uint16_t port = 0; port < graph_.nodes[node].port_count; ++port) {
            const uint16_t lid =
                agents_[node].port(is_host ? static_cast<uint8_t>(port + 1) : uint8_t{0}).lid.value;
            if (lid == 0) continue;
            if (lid >= owners.size()) owners.resize(lid + 1u, {kNone, 0});
            owners[lid] = {node, is_host ? port : uint16_t{0}};
        }
    }
    std::vector<bool> down(cable_up_.size());
    for (size_t i = 0; i < down.size(); ++i) down[i] = !cable_up_[i];
    const auto subnet = Subnet::make(graph_, owners, down);
    ForwardingTables tables(subnet->switch_count(), subnet->lid_end());
    for (uint32_t s = 0; s < subnet->switch_count(); ++s)
        for (uint32_t lid = 0; lid < subnet->lid_end(); ++lid)
            tables.set(s, lid, agents_[subnet->node(s)].route(static_cast<uint16_t>(lid)));
    return check_reach(*subnet, tables);
}

}  // namespace tulle::control
