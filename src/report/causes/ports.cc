// What packets waited for at a port, and the port that caused it.
#include <fmt/format.h>

#include <algorithm>

#include "report/causes/investigation.h"

namespace tulle::report::causes {
namespace {

constexpr uint64_t kIdlePermille = 500;    // below it, senders were slowed for more than the link
constexpr int64_t kHeldPart = 10;          // least part of its busy time that a port was held
constexpr uint64_t kRepairPermille = 100;  // of a line's time spent on repairs: worth naming

// True if flow control or congestion control held senders back, not queues.
bool is_thin(const Trouble& trouble) {
    return trouble.queue < trouble.contention() / 2;
}

}  // namespace

bool Investigation::is_of_own_work(Place place, topology::CableEnd end) const {
    const sim::LinkResult* link = facts_.link_at(end.node, end.port);
    const Sharers sharers = crossings_.sharers_at(place);
    return link != nullptr && facts_.is_host(link->peer_node) && !sharers.is_of_others();
}

void Investigation::follow_pauses() {
    std::vector<std::pair<Place, Duration>> moved;
    for (auto& [place, trouble] : troubles_) {
        const Place root = root_of(place);
        if (root == place || trouble.contention().ps == 0) continue;
        moved.push_back({root, trouble.contention()});
        trouble.held = trouble.queue = trouble.congestion = {};
    }
    for (const auto& [root, time] : moved) troubles_[root].held += time;
}

Place Investigation::root_of(Place place) const {
    for (size_t hops = 0; hops < facts_.setup.graph.nodes.size(); ++hops) {
        const topology::CableEnd end = end_at(facts_.setup, place);
        const sim::LinkResult* link = facts_.link_at(end.node, end.port);
        if (facts_.is_host(end.node) || link == nullptr ||
            link->paused * kHeldPart < link->busy + link->paused)
            return place;
        const sim::Blame* most = nullptr;
        for (const sim::Blame& blame : facts_.result.blames)
            if (blame.node == end.node && blame.port == end.port &&
                (most == nullptr || blame.paused > most->paused))
                most = &blame;
        place = most != nullptr ? links_.place_at({most->culprit_node, most->culprit_port})
                                : next_after(place, *link);
    }
    return place;
}

Place Investigation::next_after(Place place, const sim::LinkResult& link) const {
    if (facts_.is_host(link.peer_node)) return links_.place_at({link.peer_node, link.peer_port});
    const std::vector<Pair> pairs = crossings_.pairs_at(place);
    Place next = place;
    uint64_t most = 0;
    for (const sim::LinkResult& other : facts_.result.links) {
        if (other.node != link.peer_node || other.peak_queue_bytes <= most) continue;
        const Place candidate = links_.place_at({other.node, other.port});
        if (!crossings_.crosses_any(candidate, pairs)) continue;
        next = candidate;
        most = other.peak_queue_bytes;
    }
    return next;
}

void Investigation::explain_place(Place place, const Trouble& trouble) {
    const topology::CableEnd end = end_at(facts_.setup, place);
    const uint32_t cable = place / 2;
    add(CauseKind::link_retries, links_.name(end), trouble.retries, retries_text(end), place);
    if (cables_.is_far(cable))
        explain_far(place, trouble.propagation);
    else
        latency_ += trouble.propagation;
    if (facts_.is_host(end.node)) return explain_host(place, end, trouble);
    const Trouble rest = cables_.is_slow(cable) ? explain_slow(place, trouble) : trouble;
    own_bytes_ += rest.serialization;
    if (rest.contention().ps == 0) return;
    if (cables_.repair_permille(place) >= kRepairPermille)
        return add(CauseKind::link_retries, links_.name(end), rest.contention(), retries_text(end),
                   place);
    explain_contention(place, end, rest);
}

void Investigation::explain_contention(Place place, topology::CableEnd end,
                                       const Trouble& trouble) {
    const uint64_t busy = links_.busy_permille(end);
    const bool is_mine = crossings_.crosses_chain(place);
    if (is_mine && crossings_.messages_at(place) <= 1)
        return explain_thin(place, end, trouble, busy);
    if (!is_mine || !is_thin(trouble)) return explain_full(place, end, trouble.contention(), busy);
    const bool slows = trouble.congestion > trouble.held;
    const bool is_idle =
        slows && busy < kIdlePermille &&
        !first_down_of(links_.equals_of(end, crossings_.data_pairs_at(place), true)).has_value();
    if (!is_of_own_work(place, end) && !is_idle && (slows || busy >= kOverloadPermille))
        return explain_full(place, end, trouble.contention(), busy);
    const Duration idle = idle_time(links_.busy_time(end));
    Trouble slowed;
    (slows ? slowed.congestion : slowed.held) =
        std::clamp(idle, Duration{}, slows ? trouble.congestion : trouble.held);
    explain_thin(place, end, slowed, busy);
    explain_full(place, end, trouble.contention() - slowed.contention(), busy);
}

Duration Investigation::idle_time(Duration useful) const {
    return (account_.end - facts_.begin) - useful - distance_;
}

void Investigation::explain_thin(Place place, topology::CableEnd end, const Trouble& trouble,
                                 uint64_t busy) {
    if (trouble.congestion > trouble.held)
        return add(CauseKind::congestion_control, links_.name(end), trouble.contention(),
                   fmt::format("congestion control slowed the sender more than {} asked for, "
                               "which was {} busy",
                               links_.name(end), percent_text(busy)),
                   place);
    if (const auto far = far_cable(); far && trouble.held.ps != 0)
        return add(CauseKind::long_cable, facts_.names.cable(*far), trouble.contention(),
                   cables_.far_text(*far), 2 * *far);
    add(CauseKind::small_buffer, links_.name(end), trouble.contention(),
        fmt::format("buffers before {} are too small: it was {} busy, and yet senders {}",
                    links_.name(end), percent_text(busy),
                    facts_.has_credits() ? "lacked credits" : "were paused"),
        place);
}

}  // namespace tulle::report::causes
