// Links that have more to carry than they can: whose fault that is.
#include <fmt/format.h>

#include <algorithm>
#include <queue>

#include "report/causes/investigation.h"

namespace tulle::report::causes {
namespace {

constexpr uint64_t kIdlePart = 800;  // of the fullest: an equal path had room to spare

}  // namespace

void Investigation::explain_full(Place place, topology::CableEnd end, Duration time,
                                 uint64_t busy) {
    const std::vector<Pair> pairs = pairs_at(place);
    const sim::LinkResult* link = facts_.link_at(end.node, end.port);
    const Sharers sharers = sharers_at(place);
    const bool to_host = link != nullptr && facts_.is_host(link->peer_node);
    const bool is_mine = crosses_chain(place);
    if (sharers.is_of_others())
        return add(
            CauseKind::other_work, link_name(end), time,
            fmt::format("{} uses {} too ({} of {} senders, {} busy)", work_name(sharers.other),
                        link_name(end), sharers.other_pairs, pairs.size(), percent_text(busy)),
            place, {}, sharers.other);
    if (!is_mine && !pairs.empty())
        return add(CauseKind::victim, link_name(end), time,
                   fmt::format("it stood behind packets for {}, which its own do not cross "
                               "({} busy, {} senders)",
                               link_name(end), percent_text(busy), pairs.size()),
                   place, link->peer_node);
    if (to_host)
        return add(
            CauseKind::incast, link_name(end), time,
            fmt::format("{} send to {} at once: {} was {} busy", counted_hosts(sharers.sources),
                        facts_.names.node(link->peer_node), link_name(end), percent_text(busy)),
            place, link->peer_node, {}, link->busy);
    explain_between(place, end, time, busy, pairs);
}

std::string Investigation::counted_hosts(size_t count) {
    return count == 1 ? "1 host" : fmt::format("{} hosts", count);
}

std::vector<uint32_t> Investigation::hops_to(uint32_t host) const {
    std::vector<uint32_t> hops(facts_.setup.graph.nodes.size(), UINT32_MAX);
    std::queue<uint32_t> next;
    hops[host] = 0;
    next.push(host);
    for (; !next.empty(); next.pop())
        for (const auto& link : facts_.names.ports().of(next.front()))
            if (link.is_cabled() && hops[link.peer.node] == UINT32_MAX) {
                hops[link.peer.node] = hops[next.front()] + 1;
                next.push(link.peer.node);
            }
    return hops;
}

std::set<Place> Investigation::equals_of(topology::CableEnd end, const Pair& pair) const {
    const uint32_t source = facts_.names.hosts()[pair.first];
    const uint32_t destination = facts_.names.hosts()[pair.second];
    const std::vector<uint32_t> hops = hops_to(destination);
    std::set<Place> equals;
    for (const sim::LinkResult& link : facts_.result.links) {
        const topology::CableEnd other{link.node, link.port};
        if (hops[link.node] != hops[end.node] || hops[link.peer_node] + 1 != hops[link.node] ||
            other == end || !facts_.routes.may_cross(source, destination, other))
            continue;
        const topology::Cable& cable = facts_.setup.graph.cables[link.cable];
        equals.insert(fabric::place_of(link.cable, cable.a == other));
    }
    return equals;
}

void Investigation::explain_between(Place place, topology::CableEnd end, Duration time,
                                    uint64_t busy, const std::vector<Pair>& pairs) {
    std::set<Place> equal;
    for (const Pair& pair : pairs)
        if (is_of_chain(pair)) equal.merge(equals_of(end, pair));
    uint64_t others = 0;
    for (const Place other : equal) {
        if (const auto down = what_was_down(other / 2))
            return add(
                CauseKind::link_down, *down, time,
                fmt::format("{} was down, and {} carried its part too", *down, link_name(end)),
                other);
        others += busy_permille(end_at(facts_.setup, other));
    }
    if (!equal.empty() && others * 1000 < busy * kIdlePart * equal.size())
        return add(CauseKind::uneven_paths, link_name(end), time,
                   fmt::format("{} flows met on {} ({} busy), while {} {} busy on average",
                               pairs.size(), link_name(end), percent_text(busy),
                               equal.size() == 1 ? "1 equal path was"
                                                 : fmt::format("{} equal paths were", equal.size()),
                               percent_text(others / equal.size())),
                   place);
    add(CauseKind::oversubscribed, link_name(end), time,
        fmt::format("{}{} more to carry than it could ({} busy, {} flows)", link_name(end),
                    equal.empty() ? " had" : " and its equals had", percent_text(busy),
                    pairs.size()),
        place);
}

}  // namespace tulle::report::causes
