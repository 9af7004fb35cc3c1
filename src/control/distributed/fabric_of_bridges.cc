#include "control/distributed/fabric_of_bridges.h"

#include <algorithm>
#include <utility>

#include "base/rate.h"

namespace tulle::control {

using base::Duration;
using base::Instant;
using topology::CableEnd;
using topology::Graph;

namespace {

constexpr uint16_t kPriority = 0x8000;     // 17.14, table 17-2: the default of all bridges
constexpr uint16_t kNowhere = UINT16_MAX;  // no port leads there
constexpr uint16_t kHereAlready = 0xfffe;  // the target's own switch

// A BPDU of RSTP has 36 bytes (9.3.3). With the headers of Ethernet and LLC it fits into the
// smallest frame; preamble and gap follow.
constexpr uint32_t kBpduBytes = 64 + 20;

// 17.14, table 17-3: 20 Tb/s over the rate.
uint32_t cost_of(uint64_t rate_bps) {
    constexpr uint64_t kUnit = 20'000'000'000'000;
    return static_cast<uint32_t>(std::clamp<uint64_t>(kUnit / rate_bps, 1, 200'000'000));
}

}  // namespace

FabricOfBridges::FabricOfBridges(const Graph& graph, std::vector<Duration> delays,
                                 const std::vector<uint64_t>& rates_bps,
                                 const DistributedSettings& settings)
    : topology_(graph),
      ports_(topology_),
      delays_(std::move(delays)),
      settings_(settings),
      bridges_(graph.nodes.size()),
      free_at_(graph.nodes.size()),
      timer_(graph.nodes.size(), Instant::never()),
      states_(topology_),
      node_unsettled_(graph.nodes.size()),
      cable_unsettled_(graph.cables.size()),
      toward_(graph.nodes.size()) {
    for (uint32_t cable = 0; cable < graph.cables.size(); ++cable) {
        costs_.push_back(cost_of(rates_bps[cable]));
        delays_[cable] += base::Rate::bits_per_second(rates_bps[cable]).time_for(kBpduBytes);
    }
    for (const uint32_t host : graph.endpoints()) {
        const uint32_t home = ports_.at({host, 0}).peer.node;
        const auto known = std::ranges::find(homes_, home);
        target_of_.push_back(static_cast<uint32_t>(known - homes_.begin()));
        if (known == homes_.end()) homes_.push_back(home);
    }
    target_count_ = static_cast<uint32_t>(homes_.size());
    tables_ = SwitchTables(graph, target_count_);
    for (uint32_t target = 0; target < target_count_; ++target)
        tables_.at(homes_[target], target) = PortLists::kHere;
    for (const topology::Node& node : graph.nodes) forgets_.emplace_back(node.port_count);
    for (uint32_t node = 0; node < graph.nodes.size(); ++node)
        if (!graph.nodes[node].is_host()) make_bridge(node);
    for (uint32_t cable = 0; cable < graph.cables.size(); ++cable)
        if (states_.is_between_switches(cable))
            for (const CableEnd end : {graph.cables[cable].a, graph.cables[cable].b})
                bridges_[end.node]->on_link(now_, end.port, true);
    for (uint32_t node = 0; node < graph.nodes.size(); ++node)
        if (bridges_[node] != nullptr) drain(node);
}

// Addresses follow the order of the description, as if switches had been bought in that order.
void FabricOfBridges::make_bridge(uint32_t node) {
    std::vector<uint32_t> costs;
    for (const topology::Ports::Link& link : ports_.of(node))
        costs.push_back(link.is_cabled() ? costs_[link.cable] : 1);
    bridges_[node] =
        std::make_unique<Bridge>(settings_.bridge, bridge_id(kPriority, node), std::move(costs));
}

// --- cables and switches -------------------------------------------------------------------------

void FabricOfBridges::set_cable(uint32_t cable, bool is_up) {
    states_.set_cable(cable, is_up);
    change_cable(cable);
}

// A switch that comes back has forgotten everything.
void FabricOfBridges::set_switch(uint32_t node, bool is_up) {
    if (states_.is_up(node) == is_up) return;
    states_.set_node(node, is_up);
    if (is_up) {
        make_bridge(node);
        timer_[node] = Instant::never();
        forgets_[node].assign(forgets_[node].size(), true);
    }
    must_learn_ = true;
    for (const auto& link : ports_.of(node))
        if (link.is_cabled()) change_cable(link.cable);
    note_settled(node);
    // Its ports see light when it starts; events of cables come later.
    if (!is_up) return;
    for (uint16_t port = 0; port < topology_.nodes[node].port_count; ++port)
        if (const auto& link = ports_.at({node, port}); link.is_cabled() &&
                                                        states_.is_between_switches(link.cable) &&
                                                        states_.works(link.cable))
            bridges_[node]->on_link(now_, port, true);
    drain(node);
}

void FabricOfBridges::change_cable(uint32_t cable) {
    if (!states_.update(cable) || !states_.is_between_switches(cable)) return;
    const topology::Cable& at = topology_.cables[cable];
    note_settled(at.a.node);
    if (settings_.light.ps == 0) return;
    for (const CableEnd end : {at.a, at.b})
        agenda_.add({.at = now_ + settings_.light,
                     .kind = Kind::light,
                     .is_up = states_.works(cable),
                     .node = end.node,
                     .port = end.port});
}

// --- events --------------------------------------------------------------------------------------

void FabricOfBridges::run_until(Instant limit) {
    while (const auto event = agenda_.take_until(limit)) handle(*event);
    if (must_learn_ && limit > now_) learn();
    now_ = std::max(now_, limit);
}

bool FabricOfBridges::run_until_settled(Instant limit) {
    for (;;) {
        const bool is_instant_over = agenda_.next() > now_;
        if (must_learn_ && is_instant_over) learn();
        if (under_way_ == 0 && unsettled_ == 0 && is_instant_over) return true;
        const auto event = agenda_.take_until(limit);
        if (!event) return false;
        handle(*event);
    }
}

// Updates the count of unsettled switches and cables, for this switch and its cables.
void FabricOfBridges::note_settled(uint32_t node) {
    const auto note = [&](std::vector<bool>& of, uint32_t number, bool is_unsettled) {
        if (of[number] == is_unsettled) return;
        of[number] = is_unsettled;
        unsettled_ += is_unsettled ? uint64_t{1} : ~uint64_t{0};
    };
    note(node_unsettled_, node, states_.is_up(node) && !bridges_[node]->is_settled());
    for (const topology::Ports::Link& link : ports_.of(node))
        if (link.is_cabled() && states_.is_between_switches(link.cable))
            note(cable_unsettled_, link.cable, !agrees(link.cable));
}

// On a working cable, one end is designated and the other has heard it. On a broken one, neither
// has heard anything.
bool FabricOfBridges::agrees(uint32_t cable) const {
    const topology::Cable& at = topology_.cables[cable];
    const auto has_heard = [&](CableEnd end) {
        return states_.is_up(end.node) && bridges_[end.node]->has_heard(end.port);
    };
    return states_.works(cable) ? has_heard(at.a) != has_heard(at.b)
                                : !has_heard(at.a) && !has_heard(at.b);
}

void FabricOfBridges::handle(const Event& event) {
    if (must_learn_ && event.at > now_) learn();
    now_ = event.at;
    switch (event.kind) {
        case Kind::arrival: {
            const uint32_t cable = ports_.at({event.node, event.port}).cable;
            const bool is_hello = event.bpdu.is_hello;
            if (!states_.works(cable) || states_.outages(cable) != event.outages) {
                if (!is_hello) --under_way_;
                return;
            }
            Event handled = event;
            handled.kind = Kind::handled;
            free_at_[event.node] =
                std::max(free_at_[event.node], now_) + (is_hello ? Duration{} : settings_.handle);
            handled.at = free_at_[event.node];
            return agenda_.add(handled);
        }
        case Kind::handled:
            if (!event.bpdu.is_hello) --under_way_;
            if (!states_.is_up(event.node)) return;
            bridges_[event.node]->on_message(now_, event.port, event.bpdu);
            break;
        case Kind::timer:
            timer_[event.node] = Instant::never();
            if (!states_.is_up(event.node)) return;
            bridges_[event.node]->on_timer(now_);
            break;
        case Kind::light:
            if (!states_.is_up(event.node)) return;
            bridges_[event.node]->on_link(now_, event.port, event.is_up);
            break;
    }
    drain(event.node);
}

void FabricOfBridges::drain(uint32_t node) {
    Bridge& bridge = *bridges_[node];
    while (const auto out = bridge.poll_transmit()) {
        const topology::Ports::Link& link = ports_.at({node, out->port});
        const bool is_hello = out->bpdu.is_hello;
        if (!is_hello) {
            ++messages_;
            free_at_[node] = std::max(free_at_[node], now_) + settings_.send;
        }
        if (!states_.works(link.cable)) continue;
        if (!is_hello) ++under_way_;
        const Instant at = std::max(free_at_[node], now_);
        if (keeps_sent_) sent_.push_back({at, {node, out->port}, kBpduBytes});
        agenda_.add({.at = at + delays_[link.cable],
                     .node = link.peer.node,
                     .port = link.peer.port,
                     .outages = states_.outages(link.cable),
                     .bpdu = out->bpdu});
    }
    const BridgeChanges changes = bridge.take_changes();
    for (const uint16_t port : changes.flushed) forgets_[node][port] = true;
    must_learn_ |= changes.any();
    note_settled(node);
    set_timer(node);
}

void FabricOfBridges::set_timer(uint32_t node) {
    const Instant next = bridges_[node]->next_deadline();
    if (next >= timer_[node]) return;
    timer_[node] = next;
    agenda_.add({.at = std::max(next, now_), .kind = Kind::timer, .node = node});
}

// --- tables --------------------------------------------------------------------------------------

bool FabricOfBridges::carries(uint32_t cable) const {
    const topology::Cable& at = topology_.cables[cable];
    return states_.works(cable) && bridges_[at.a.node]->forwards(at.a.port) &&
           bridges_[at.b.node]->forwards(at.b.port);
}

void FabricOfBridges::learn() {
    must_learn_ = false;
    for (uint32_t target = 0; target < target_count_; ++target) learn(target);
    for (auto& ports : forgets_) ports.assign(ports.size(), false);
}

void FabricOfBridges::learn(uint32_t target) {
    toward_.assign(toward_.size(), kNowhere);
    tree_queue_.assign(1, homes_[target]);
    toward_[homes_[target]] = kHereAlready;
    for (size_t i = 0; i < tree_queue_.size(); ++i)
        for (const topology::Ports::Link& link : ports_.of(tree_queue_[i])) {
            if (!link.is_cabled() || !states_.is_between_switches(link.cable) ||
                !carries(link.cable) || toward_[link.peer.node] != kNowhere)
                continue;
            toward_[link.peer.node] = link.peer.port;
            tree_queue_.push_back(link.peer.node);
        }
    for (uint32_t node = 0; node < bridges_.size(); ++node) {
        if (bridges_[node] == nullptr || !states_.is_up(node) || node == homes_[target]) continue;
        const uint32_t own = tables_.at(node, target);
        const bool keeps = own != PortLists::kEmpty &&
                           bridges_[node]->forwards(lists_.ports(own).front()) &&
                           !forgets_[node][lists_.ports(own).front()];
        if (keeps) continue;
        const uint32_t list =
            toward_[node] == kNowhere ? PortLists::kEmpty : lists_.number_of({toward_[node]});
        write(node, target, list);
    }
}

void FabricOfBridges::write(uint32_t node, uint32_t target, uint32_t list) {
    uint32_t& entry = tables_.at(node, target);
    if (entry == list) return;
    entry = list;
    writes_.push_back({now_, node, target, list});
}

std::vector<TableWrite> FabricOfBridges::take_writes() {
    return std::exchange(writes_, {});
}

std::vector<uint32_t> FabricOfBridges::blocked_cables() const {
    std::vector<uint32_t> blocked;
    for (uint32_t cable = 0; cable < topology_.cables.size(); ++cable)
        if (states_.is_between_switches(cable) && states_.works(cable) && !carries(cable))
            blocked.push_back(cable);
    return blocked;
}

}  // namespace tulle::control
