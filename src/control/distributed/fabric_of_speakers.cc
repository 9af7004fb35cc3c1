#include "control/distributed/fabric_of_speakers.h"

#include <algorithm>

namespace tulle::control {

using base::Duration;
using base::Instant;
using topology::CableEnd;
using topology::Graph;

namespace {

bool is_hello(const BgpMessage& message) {
    return message.kind == BgpMessage::Kind::keepalive || message.kind == BgpMessage::Kind::bfd;
}

// Messages that TCP retransmits while the session exists; others are useless later.
bool is_sent_again(const BgpMessage& message) {
    return message.kind == BgpMessage::Kind::keepalive || message.kind == BgpMessage::Kind::update;
}

// The number of BGP messages that it stands for.
uint32_t updates_of(const BgpMessage& message) {
    return message.kind == BgpMessage::Kind::update ? message.updates : 1;
}

}  // namespace

FabricOfSpeakers::FabricOfSpeakers(const Graph& graph, std::vector<Duration> delays,
                                   const std::vector<uint64_t>& rates_bps,
                                   const DistributedSettings& settings)
    : topology_(graph),
      ports_(topology_),
      delays_(std::move(delays)),
      settings_(settings),
      systems_(autonomous_systems(graph, settings.systems)),
      own_prefix_(graph.nodes.size(), kNoPrefix),
      free_at_(graph.nodes.size()),
      waiting_(graph.nodes.size()),
      installed_at_(graph.nodes.size()),
      timer_(graph.nodes.size(), Instant::never()),
      states_(topology_),
      is_unsettled_(graph.cables.size()),
      directions_(2 * graph.cables.size()) {
    for (const uint64_t rate : rates_bps) rates_.push_back(base::Rate::bits_per_second(rate));
    for (const uint32_t host : graph.endpoints()) {
        Prefix& prefix = own_prefix_[ports_.at({host, 0}).peer.node];
        if (prefix == kNoPrefix) prefix = prefix_count_++;
        prefix_of_.push_back(prefix);
    }
    speakers_.resize(graph.nodes.size());
    for (uint32_t node = 0; node < graph.nodes.size(); ++node)
        if (!graph.nodes[node].is_host()) make_speaker(node);
    for (uint32_t cable = 0; cable < graph.cables.size(); ++cable) {
        if (!states_.is_between_switches(cable)) continue;
        for (const CableEnd end : {graph.cables[cable].a, graph.cables[cable].b}) {
            speakers_[end.node]->on_link(now_, end.port, true);
            note_session(end.node, end.port);
        }
    }
    for (uint32_t node = 0; node < graph.nodes.size(); ++node)
        if (speakers_[node] != nullptr) drain(node);
}

void FabricOfSpeakers::make_speaker(uint32_t node) {
    speakers_[node] = std::make_unique<Speaker>(settings_.speaker, systems_[node],
                                                topology_.nodes[node].port_count, prefix_count_,
                                                own_prefix_[node], paths_);
}

// --- cables and switches -------------------------------------------------------------------------

void FabricOfSpeakers::set_cable(uint32_t cable, bool is_up) {
    states_.set_cable(cable, is_up);
    change_cable(cable);
}

void FabricOfSpeakers::set_switch(uint32_t node, bool is_up) {
    if (states_.is_up(node) == is_up) return;
    states_.set_node(node, is_up);
    if (is_up) {
        make_speaker(node);
        timer_[node] = Instant::never();
        for (Prefix prefix = 0; prefix < prefix_count_; ++prefix)
            if (prefix != own_prefix_[node]) writes_.push_back({now_, node, prefix, 0});
        installed_at_[node] = std::max(installed_at_[node], now_);
    }
    for (const auto& link : ports_.of(node))
        if (link.is_cabled()) change_cable(link.cable);
    if (is_up && settings_.light.ps == 0) start_sessions(node);
}

// For a switch whose ports do not report light.
void FabricOfSpeakers::start_sessions(uint32_t node) {
    for (uint16_t port = 0; port < topology_.nodes[node].port_count; ++port)
        if (const auto& link = ports_.at({node, port});
            link.is_cabled() && states_.is_between_switches(link.cable))
            speakers_[node]->on_link(now_, port, true);
    drain(node);
}

// A switch notices lost light even if it is back before the notice arrives.
void FabricOfSpeakers::change_cable(uint32_t cable) {
    if (!states_.update(cable) || !states_.is_between_switches(cable)) return;
    const bool works = states_.works(cable);
    for (const CableEnd end : {topology_.cables[cable].a, topology_.cables[cable].b}) {
        note_session(end.node, end.port);
        if (settings_.light.ps > 0)
            agenda_.add({.at = now_ + settings_.light,
                         .kind = Kind::light,
                         .is_up = works,
                         .node = end.node,
                         .port = end.port});
        else if (works)
            agenda_.add({.at = now_ + settings_.resend,
                         .kind = Kind::resume,
                         .node = end.node,
                         .port = end.port});
    }
}

// --- events --------------------------------------------------------------------------------------

void FabricOfSpeakers::run_until(Instant limit) {
    while (const auto event = agenda_.take_until(limit)) handle(*event);
    now_ = std::max(now_, limit);
}

bool FabricOfSpeakers::run_until_settled(Instant limit) {
    while (under_way_ != 0 || unsettled_ != 0) {
        const auto event = agenda_.take_until(limit);
        if (!event) return false;
        handle(*event);
    }
    return true;
}

void FabricOfSpeakers::handle(const Event& event) {
    now_ = event.at;
    switch (event.kind) {
        case Kind::arrival: return arrive(event);
        case Kind::handled: {
            const BgpMessage message = std::move(pool_[event.message]);
            free_.push_back(event.message);
            if (!is_hello(message)) {
                --under_way_;
                --waiting_[event.node];
            }
            if (!states_.is_up(event.node)) return;
            speakers_[event.node]->on_message(now_, event.port, message);
            if (waiting_[event.node] == 0) speakers_[event.node]->settle();
            break;
        }
        case Kind::timer:
            timer_[event.node] = Instant::never();
            if (!states_.is_up(event.node)) return;
            speakers_[event.node]->on_timer(now_);
            break;
        case Kind::light: {
            if (!states_.is_up(event.node)) return;
            // A loss is reported even if light is back already, so the session ends in any case.
            speakers_[event.node]->on_link(now_, event.port, event.is_up);
            break;
        }
        case Kind::resume: return resume({event.node, event.port});
    }
    drain(event.node);
    // A timer may change all sessions; any other event changes only that of its port.
    if (event.kind != Kind::timer) return note_session(event.node, event.port);
    for (uint16_t port = 0; port < topology_.nodes[event.node].port_count; ++port)
        note_session(event.node, port);
}

// The message is lost if the cable broke meanwhile.
void FabricOfSpeakers::arrive(const Event& event) {
    const topology::Ports::Link& link = ports_.at({event.node, event.port});
    BgpMessage& message = pool_[event.message];
    if (!states_.works(link.cable) || states_.outages(link.cable) != event.outages) {
        if (!is_hello(message)) --under_way_;
        if (is_sent_again(message)) lose(link.peer, event.number, std::move(message));
        free_.push_back(event.message);
        return;
    }
    if (const uint32_t bytes = acknowledgement_bytes(message))
        note_sent(now_, {event.node, event.port}, bytes);
    Event handled = event;
    handled.kind = Kind::handled;
    const Duration cost = is_hello(message)
                              ? Duration{}
                              : settings_.handle * int64_t{updates_of(message)} +
                                    settings_.route * static_cast<int64_t>(message.routes.size());
    handled.at = free_at_[event.node] = std::max(free_at_[event.node], now_) + cost;
    if (!is_hello(message)) ++waiting_[event.node];
    agenda_.add(handled);
}

// Takes messages to send and entries to write from a switch.
void FabricOfSpeakers::drain(uint32_t node) {
    Speaker& speaker = *speakers_[node];
    while (const auto port = speaker.poll_reset()) forget_lost({node, *port});
    while (auto out = speaker.poll_transmit()) {
        if (!is_hello(out->message))
            free_at_[node] =
                std::max(free_at_[node], now_) + settings_.send * int64_t{updates_of(out->message)};
        transmit(std::max(free_at_[node], now_), node, std::move(*out));
    }
    while (const auto entry = speaker.poll_table()) {
        installed_at_[node] = std::max(installed_at_[node], now_) + settings_.install;
        writes_.push_back(
            {installed_at_[node], node, entry->prefix, lists_.number_of(entry->ports)});
    }
    set_timer(node);
}

void FabricOfSpeakers::transmit(Instant at, uint32_t node, BgpOut&& out) {
    if (!is_hello(out.message)) messages_ += updates_of(out.message);
    const CableEnd from{node, out.port};
    Direction& there = direction(from);
    const uint64_t number = ++there.sent;
    if (states_.works(ports_.at(from).cable) && (there.lost.empty() || !is_sent_again(out.message)))
        return hand_over(at, from, number, std::move(out.message));
    if (is_sent_again(out.message)) lose(from, number, std::move(out.message));
}

void FabricOfSpeakers::lose(CableEnd from, uint64_t number, BgpMessage message) {
    if (!is_hello(message)) ++under_way_;
    direction(from).lost[number] = std::move(message);
}

void FabricOfSpeakers::forget_lost(CableEnd from) {
    for (const auto& [number, message] : direction(from).lost)
        if (!is_hello(message)) --under_way_;
    direction(from).lost.clear();
}

void FabricOfSpeakers::hand_over(Instant at, CableEnd from, uint64_t number, BgpMessage message) {
    const topology::Ports::Link& link = ports_.at(from);
    if (!is_hello(message)) ++under_way_;
    const uint32_t bytes = wire_bytes(message);
    Instant& free_at = direction(from).free_at;
    at = std::max(at, free_at);
    free_at = at + rates_[link.cable].time_for(bytes);
    note_sent(at, from, bytes);
    agenda_.add({.at = free_at + delays_[link.cable],
                 .kind = Kind::arrival,
                 .node = link.peer.node,
                 .port = link.peer.port,
                 .number = number,
                 .outages = states_.outages(link.cable),
                 .message = keep(std::move(message))});
}

void FabricOfSpeakers::note_sent(Instant at, CableEnd from, uint32_t bytes) {
    if (keeps_sent_) sent_.push_back({at, from, bytes});
}

void FabricOfSpeakers::resume(CableEnd from) {
    if (!states_.works(ports_.at(from).cable)) return;
    std::map<uint64_t, BgpMessage> lost = direction(from).lost;
    forget_lost(from);
    for (auto& [number, message] : lost) hand_over(now_, from, number, std::move(message));
}

uint32_t FabricOfSpeakers::keep(BgpMessage message) {
    if (free_.empty()) {
        pool_.push_back(std::move(message));
        return static_cast<uint32_t>(pool_.size() - 1);
    }
    const uint32_t place = free_.back();
    free_.pop_back();
    pool_[place] = std::move(message);
    return place;
}

// A cable is settled when both ends have a session if it works, and neither has one if it does not.
void FabricOfSpeakers::note_session(uint32_t node, uint16_t port) {
    const topology::Ports::Link& link = ports_.at({node, port});
    if (!link.is_cabled() || !states_.is_between_switches(link.cable)) return;
    const auto is_as_wanted = [&](CableEnd end) {
        return !states_.is_up(end.node) ||
               speakers_[end.node]->is_established(end.port) == states_.works(link.cable);
    };
    const bool is_unsettled = !is_as_wanted({node, port}) || !is_as_wanted(link.peer);
    if (is_unsettled == is_unsettled_[link.cable]) return;
    is_unsettled_[link.cable] = is_unsettled;
    unsettled_ += is_unsettled ? uint64_t{1} : ~uint64_t{0};
}

void FabricOfSpeakers::set_timer(uint32_t node) {
    const Instant next = speakers_[node]->next_deadline();
    if (next == Instant::never() || next >= timer_[node]) return;
    timer_[node] = next;
    agenda_.add({.at = std::max(next, now_), .kind = Kind::timer, .node = node});
}

// --- out -----------------------------------------------------------------------------------------

std::vector<TableWrite> FabricOfSpeakers::take_writes() {
    return std::exchange(writes_, {});
}

SwitchTables FabricOfSpeakers::tables() const {
    PortLists lists = lists_;
    SwitchTables tables(topology_, prefix_count_);
    for (uint32_t node = 0; node < topology_.nodes.size(); ++node) {
        if (speakers_[node] == nullptr) continue;
        for (Prefix prefix = 0; prefix < prefix_count_; ++prefix)
            tables.at(node, prefix) = prefix == own_prefix_[node]
                                          ? PortLists::kHere
                                          : lists.number_of(speakers_[node]->table(prefix));
    }
    return tables;
}

}  // namespace tulle::control
