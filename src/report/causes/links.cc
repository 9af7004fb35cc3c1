#include "report/causes/links.h"

#include <algorithm>
#include <queue>

#include "sim/cables.h"

namespace tulle::report::causes {

std::string Links::name(topology::CableEnd end) const {
    return facts_.names.link(end.node, end.port);
}

uint64_t Links::busy_permille(topology::CableEnd end) const {
    const sim::LinkResult* link = facts_.link_at(end.node, end.port);
    const int64_t whole = (facts_.result.account.end - facts_.begin).ps;
    if (link == nullptr || whole <= 0) return 0;
    return std::min<uint64_t>(
        1000, static_cast<uint64_t>(link->busy.ps) * 1000 / static_cast<uint64_t>(whole));
}

Duration Links::busy_time(topology::CableEnd end) const {
    const sim::LinkResult* link = facts_.link_at(end.node, end.port);
    return link == nullptr ? Duration{} : link->busy;
}

Place Links::place_at(topology::CableEnd end) const {
    const uint32_t cable = facts_.names.ports().at(end).cable;
    return fabric::place_of(cable, facts_.setup.graph.cables[cable].a == end);
}

std::vector<uint32_t> Links::hops_to(uint32_t host) const {
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

std::set<Place> Links::equals_of(topology::CableEnd end, const Pair& pair) const {
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

std::set<Place> Links::equals_of(topology::CableEnd end, const std::vector<Pair>& pairs,
                                 bool of_chain) const {
    std::set<Place> equals;
    for (const Pair& pair : pairs)
        if (!of_chain || crossings_.is_of_chain(pair)) equals.merge(equals_of(end, pair));
    return equals;
}

// If all that a link carries goes to one host, whose own link is no faster, it waits for that.
std::optional<Place> Links::only_receiver(Place place, const std::vector<Pair>& pairs) const {
    if (pairs.size() < 2) return std::nullopt;
    const uint32_t receiver = pairs.front().second;
    for (const Pair& pair : pairs)
        if (pair.second != receiver) return std::nullopt;
    const std::optional<Place> last = link_to(receiver);
    if (!last ||
        sim::cable_rate(facts_.setup, *last / 2) > sim::cable_rate(facts_.setup, place / 2))
        return std::nullopt;
    return last;
}

std::optional<Place> Links::receiver_of_chain(const std::vector<Pair>& pairs) const {
    std::set<uint32_t> receivers;
    for (const Pair& pair : pairs)
        if (crossings_.is_of_chain(pair)) receivers.insert(pair.second);
    return receivers.size() == 1 ? link_to(*receivers.begin()) : std::nullopt;
}

std::optional<Place> Links::link_to(uint32_t host) const {
    const auto& links = facts_.names.ports().of(facts_.names.hosts()[host]);
    const auto cabled = std::ranges::count_if(links, &topology::Ports::Link::is_cabled);
    if (cabled != 1 || !links.front().is_cabled()) return std::nullopt;
    return place_at(links.front().peer);
}

}  // namespace tulle::report::causes
