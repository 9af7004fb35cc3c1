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

// What a session that still stands sends again; all else is of no use later.
bool is_sent_again(const BgpMessage& message) {
    return message.kind == BgpMessage::Kind::keepalive || message.kind == BgpMessage::Kind::update;
}

}  // namespace

FabricOfSpeakers::FabricOfSpeakers(const Graph& graph, std::vector<Duration> delays,
                                   const DistributedSettings& settings)
    : topology_(graph),
      ports_(topology_),
      delays_(std::move(delays)),
      settings_(settings),
      systems_(autonomous_systems(graph, settings.systems)),
      own_prefix_(graph.nodes.size(), kNoPrefix),
      free_at_(graph.nodes.size()),
      installed_at_(graph.nodes.size()),
      timer_(graph.nodes.size(), Instant::never()),
      cable_up_(graph.cables.size(), true),
      node_up_(graph.nodes.size(), true),
      works_(graph.cables.size(), true),
      outages_(graph.cables.size()),
      is_unsettled_(graph.cables.size()),
      directions_(2 * graph.cables.size()) {
    for (const uint32_t host : graph.endpoints()) {
        Prefix& prefix = own_prefix_[ports_.at({host, 0}).peer.node];
        if (prefix == kNoPrefix) prefix = prefix_count_++;
        prefix_of_.push_back(prefix);
    }
    speakers_.resize(graph.nodes.size());
    for (uint32_t node = 0; node < graph.nodes.size(); ++node)
        if (!graph.nodes[node].is_host()) make_speaker(node);
    for (uint32_t cable = 0; cable < graph.cables.size(); ++cable) {
        if (!is_between_switches(cable)) continue;
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

bool FabricOfSpeakers::is_between_switches(uint32_t cable) const {
    return !topology_.nodes[topology_.cables[cable].a.node].is_host() &&
           !topology_.nodes[topology_.cables[cable].b.node].is_host();
}

// --- cables and switches -------------------------------------------------------------------------

void FabricOfSpeakers::set_cable(uint32_t cable, bool is_up) {
    cable_up_[cable] = is_up;
    change_cable(cable);
}

void FabricOfSpeakers::set_switch(uint32_t node, bool is_up) {
    if (node_up_[node] == is_up) return;
    node_up_[node] = is_up;
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

// Of a switch whose ports say nothing of light.
void FabricOfSpeakers::start_sessions(uint32_t node) {
    for (uint16_t port = 0; port < topology_.nodes[node].port_count; ++port)
        if (const auto& link = ports_.at({node, port});
            link.is_cabled() && is_between_switches(link.cable))
            speakers_[node]->on_link(now_, port, true);
    drain(node);
}

// Light that is lost is noticed even where it is back before anybody looks.
void FabricOfSpeakers::change_cable(uint32_t cable) {
    const CableEnd a = topology_.cables[cable].a;
    const CableEnd b = topology_.cables[cable].b;
    const bool works = cable_up_[cable] && node_up_[a.node] && node_up_[b.node];
    if (works == works_[cable]) return;
    works_[cable] = works;
    if (!works) ++outages_[cable];
    if (!is_between_switches(cable)) return;
    for (const CableEnd end : {a, b}) {
        note_session(end.node, end.port);
        if (settings_.light.ps > 0)
            push({.at = now_ + settings_.light,
                  .kind = Kind::light,
                  .is_up = works,
                  .node = end.node,
                  .port = end.port});
        else if (works)
            push({.at = now_ + settings_.resend,
                  .kind = Kind::resume,
                  .node = end.node,
                  .port = end.port});
    }
}

// --- events --------------------------------------------------------------------------------------

void FabricOfSpeakers::push(Event event) {
    event.order = ++order_;
    queue_.push(event);
}

void FabricOfSpeakers::run_until(Instant limit) {
    while (!queue_.empty() && queue_.top().at <= limit) {
        const Event event = queue_.top();
        queue_.pop();
        handle(event);
    }
    now_ = std::max(now_, limit);
}

bool FabricOfSpeakers::run_until_settled(Instant limit) {
    while (under_way_ != 0 || unsettled_ != 0) {
        if (queue_.empty() || queue_.top().at > limit) return false;
        const Event event = queue_.top();
        queue_.pop();
        handle(event);
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
            if (!is_hello(message)) --under_way_;
            if (!node_up_[event.node]) return;
            speakers_[event.node]->on_message(now_, event.port, message);
            break;
        }
        case Kind::timer:
            timer_[event.node] = Instant::never();
            if (!node_up_[event.node]) return;
            speakers_[event.node]->on_timer(now_);
            break;
        case Kind::light: {
            if (!node_up_[event.node]) return;
            // A loss first, where light is back already: the session ends all the same.
            speakers_[event.node]->on_link(now_, event.port, event.is_up);
            break;
        }
        case Kind::resume: return resume({event.node, event.port});
    }
    drain(event.node);
    // Timers are of all sessions; all else changes that of its port alone.
    if (event.kind != Kind::timer) return note_session(event.node, event.port);
    for (uint16_t port = 0; port < topology_.nodes[event.node].port_count; ++port)
        note_session(event.node, port);
}

// The cable may have broken while the message was on it.
void FabricOfSpeakers::arrive(const Event& event) {
    const topology::Ports::Link& link = ports_.at({event.node, event.port});
    BgpMessage& message = pool_[event.message];
    if (!works_[link.cable] || outages_[link.cable] != event.outages) {
        if (!is_hello(message)) --under_way_;
        if (is_sent_again(message)) lose(link.peer, event.number, std::move(message));
        free_.push_back(event.message);
        return;
    }
    Event handled = event;
    handled.kind = Kind::handled;
    const Duration cost =
        is_hello(message)
            ? Duration{}
            : settings_.handle + settings_.route * static_cast<int64_t>(message.routes());
    handled.at = free_at_[event.node] = std::max(free_at_[event.node], now_) + cost;
    push(handled);
}

// Takes from a switch what it has to send and to write.
void FabricOfSpeakers::drain(uint32_t node) {
    Speaker& speaker = *speakers_[node];
    while (const auto port = speaker.poll_reset()) forget_lost({node, *port});
    while (const auto out = speaker.poll_transmit()) {
        if (!is_hello(out->message))
            free_at_[node] = std::max(free_at_[node], now_) + settings_.send;
        transmit(std::max(free_at_[node], now_), node, *out);
    }
    while (const auto entry = speaker.poll_table()) {
        installed_at_[node] = std::max(installed_at_[node], now_) + settings_.install;
        writes_.push_back(
            {installed_at_[node], node, entry->prefix, lists_.number_of(entry->ports)});
    }
    set_timer(node);
}

void FabricOfSpeakers::transmit(Instant at, uint32_t node, const BgpOut& out) {
    if (!is_hello(out.message)) ++messages_;
    const CableEnd from{node, out.port};
    Direction& there = direction(from);
    const uint64_t number = ++there.sent;
    if (works_[ports_.at(from).cable] && (there.lost.empty() || !is_sent_again(out.message)))
        return deliver(at, from, number, out.message);
    if (is_sent_again(out.message)) lose(from, number, out.message);
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

void FabricOfSpeakers::deliver(Instant at, CableEnd from, uint64_t number, BgpMessage message) {
    const topology::Ports::Link& link = ports_.at(from);
    if (!is_hello(message)) ++under_way_;
    push({.at = at + delays_[link.cable],
          .kind = Kind::arrival,
          .node = link.peer.node,
          .port = link.peer.port,
          .number = number,
          .outages = outages_[link.cable],
          .message = keep(std::move(message))});
}

void FabricOfSpeakers::resume(CableEnd from) {
    if (!works_[ports_.at(from).cable]) return;
    const std::map<uint64_t, BgpMessage> lost = direction(from).lost;
    forget_lost(from);
    for (const auto& [number, message] : lost) deliver(now_, from, number, message);
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

// Both ends of a cable that works have a session, and neither of one that does not.
void FabricOfSpeakers::note_session(uint32_t node, uint16_t port) {
    const topology::Ports::Link& link = ports_.at({node, port});
    if (!link.is_cabled() || !is_between_switches(link.cable)) return;
    const auto is_as_wanted = [&](CableEnd end) {
        return !node_up_[end.node] ||
               speakers_[end.node]->is_established(end.port) == works_[link.cable];
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
    push({.at = std::max(next, now_), .kind = Kind::timer, .node = node});
}

// --- out -----------------------------------------------------------------------------------------

std::vector<TableWrite> FabricOfSpeakers::take_writes() {
    return std::exchange(writes_, {});
}

std::vector<uint32_t> FabricOfSpeakers::tables() const {
    PortLists lists = lists_;
    std::vector<uint32_t> tables(topology_.nodes.size() * prefix_count_, PortLists::kEmpty);
    for (uint32_t node = 0; node < topology_.nodes.size(); ++node) {
        if (speakers_[node] == nullptr) continue;
        for (Prefix prefix = 0; prefix < prefix_count_; ++prefix)
            tables[size_t{node} * prefix_count_ + prefix] =
                prefix == own_prefix_[node] ? PortLists::kHere
                                            : lists.number_of(speakers_[node]->table(prefix));
    }
    return tables;
}

}  // namespace tulle::control
