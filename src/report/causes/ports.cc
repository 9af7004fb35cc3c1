// What packets waited for at a port, and the port at the root of it.
#include <fmt/format.h>

#include <algorithm>

#include "report/causes/investigation.h"

namespace tulle::report::causes {
namespace {

constexpr uint64_t kFullPermille = 700;  // of the time that the chain lasted: it had enough to do
constexpr int64_t kHeldPart = 10;  // of the time that a port had something to send: held that long
constexpr uint64_t kRepairPermille = 100;  // of a line's time that go to repairs: worth a name

}  // namespace

uint64_t Investigation::busy_permille(topology::CableEnd end) const {
    const sim::LinkResult* link = facts_.link_at(end.node, end.port);
    const int64_t whole = (account_.end - facts_.begin).ps;
    if (link == nullptr || whole <= 0) return 0;
    return std::min<uint64_t>(
        1000, static_cast<uint64_t>(link->busy.ps) * 1000 / static_cast<uint64_t>(whole));
}

Duration Investigation::busy_time(topology::CableEnd end) const {
    const sim::LinkResult* link = facts_.link_at(end.node, end.port);
    return link == nullptr ? Duration{} : link->busy;
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
        place = most != nullptr ? place_at({most->culprit_node, most->culprit_port})
                                : next_after(place, *link);
    }
    return place;
}

Place Investigation::next_after(Place place, const sim::LinkResult& link) const {
    if (facts_.is_host(link.peer_node)) return place_at({link.peer_node, link.peer_port});
    const std::vector<Pair> pairs = pairs_at(place);
    Place next = place;
    uint64_t most = 0;
    for (const sim::LinkResult& other : facts_.result.links) {
        if (other.node != link.peer_node || other.peak_queue_bytes <= most) continue;
        const Place candidate = place_at({other.node, other.port});
        const auto crossing = crossings_.find(candidate);
        if (crossing == crossings_.end()) continue;
        if (std::none_of(pairs.begin(), pairs.end(),
                         [&](const Pair& pair) { return crossing->second.contains(pair); }))
            continue;
        next = candidate;
        most = other.peak_queue_bytes;
    }
    return next;
}

Place Investigation::place_at(topology::CableEnd end) const {
    const uint32_t cable = facts_.names.ports().at(end).cable;
    return fabric::place_of(cable, facts_.setup.graph.cables[cable].a == end);
}

void Investigation::explain_place(Place place, const Trouble& trouble) {
    const topology::CableEnd end = end_at(facts_.setup, place);
    const uint32_t cable = place / 2;
    add(CauseKind::link_retries, link_name(end), trouble.retries, retries_text(end), place);
    if (is_far(cable))
        explain_far(place, trouble.propagation);
    else
        latency_ += trouble.propagation;
    if (is_slow(cable) && !facts_.is_host(end.node)) return explain_slow(place, trouble);
    if (facts_.is_host(end.node)) return explain_host(place, end, trouble);
    own_bytes_ += trouble.serialization;
    if (trouble.contention().ps == 0) return;
    if (repair_permille(cable) >= kRepairPermille)
        return add(CauseKind::link_retries, link_name(end), trouble.contention(), retries_text(end),
                   place);
    explain_contention(place, end, trouble);
}

void Investigation::explain_contention(Place place, topology::CableEnd end,
                                       const Trouble& trouble) {
    const uint64_t busy = busy_permille(end);
    const bool is_mine = crosses_chain(place);
    if (is_mine && messages_at(place) <= 1) return explain_thin(place, end, trouble, busy);
    if (!is_mine || !is_thin(trouble)) return explain_full(place, end, trouble.contention(), busy);
    const bool slows = trouble.congestion > trouble.held;
    if (!is_of_own_work(place, end)) {
        if (slows || busy >= kFullPermille)
            return explain_full(place, end, trouble.contention(), busy);
        return explain_thin(place, end, trouble, busy);
    }
    const Duration idle = (account_.end - facts_.begin) - busy_time(end) - distance_;
    Trouble slowed;
    (slows ? slowed.congestion : slowed.held) =
        std::clamp(idle, Duration{}, slows ? trouble.congestion : trouble.held);
    explain_thin(place, end, slowed, busy);
    explain_full(place, end, trouble.contention() - slowed.contention(), busy);
}

bool Investigation::is_thin(const Trouble& trouble) {
    return trouble.queue < trouble.contention() / 2;
}

std::string Investigation::link_name(topology::CableEnd end) const {
    return facts_.names.link(end.node, end.port);
}

void Investigation::explain_thin(Place place, topology::CableEnd end, const Trouble& trouble,
                                 uint64_t busy) {
    if (trouble.congestion > trouble.held)
        return add(CauseKind::congestion_control, link_name(end), trouble.contention(),
                   fmt::format("congestion control slowed the sender more than {} asked for, "
                               "which was {} busy",
                               link_name(end), percent_text(busy)),
                   place);
    if (const auto far = far_cable(); far && trouble.held.ps != 0)
        return add(CauseKind::long_cable, facts_.names.cable(*far), trouble.contention(),
                   far_text(*far), 2 * *far);
    add(CauseKind::small_buffer, link_name(end), trouble.contention(),
        fmt::format("buffers before {} are too small: it was {} busy, and yet senders {}",
                    link_name(end), percent_text(busy),
                    facts_.has_credits() ? "lacked credits" : "were paused"),
        place);
}

}  // namespace tulle::report::causes
