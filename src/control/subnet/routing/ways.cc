#include "control/subnet/routing/ways.h"

#include <algorithm>
#include <numeric>

namespace tulle::control {
namespace {

// Searches breadth first from all switches in `queue`, whose distance is 0 already. `queue` then
// holds the order of the visit.
void spread(const Subnet& subnet, std::vector<uint32_t>& distance, std::vector<uint32_t>& queue) {
    for (size_t i = 0; i < queue.size(); ++i)
        for (const Subnet::Link& link : subnet.links_of(queue[i]))
            if (distance[link.to] == kFar) {
                distance[link.to] = distance[link.from] + 1;
                queue.push_back(link.to);
            }
}

std::vector<uint32_t> ordered_by(const std::vector<uint32_t>& depth) {
    std::vector<uint32_t> order(depth.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return depth[a] < depth[b]; });
    return order;
}

// The distance from the root of each connected piece: its first switch with the most links.
std::vector<uint32_t> distances_from_roots(const Subnet& subnet) {
    std::vector<uint32_t> roots(subnet.switch_count());
    std::iota(roots.begin(), roots.end(), 0);
    std::stable_sort(roots.begin(), roots.end(), [&](uint32_t a, uint32_t b) {
        return subnet.links_of(a).size() > subnet.links_of(b).size();
    });
    std::vector<uint32_t> distance(subnet.switch_count(), kFar);
    std::vector<uint32_t> queue;
    for (const uint32_t root : roots) {
        if (distance[root] != kFar) continue;
        distance[root] = 0;
        queue.assign(1, root);
        spread(subnet, distance, queue);
    }
    return distance;
}

}  // namespace

void ShortestWays::find(uint32_t home, Ways& ways) {
    distance_.assign(subnet_.switch_count(), kFar);
    distance_[home] = 0;
    queue_.assign(1, home);
    spread(subnet_, distance_, queue_);
    ways.clear();
    for (size_t i = 1; i < queue_.size(); ++i) {
        const uint32_t s = queue_[i];
        ways.begin(s);
        for (uint32_t id = subnet_.first_link(s); id < subnet_.end_link(s); ++id) {
            const uint32_t to = subnet_.link(id).to;
            if (distance_[to] + 1 == distance_[s]) ways.add(id, to);
        }
    }
}

UpDownWays::UpDownWays(const Subnet& subnet, std::vector<uint32_t> order)
    : subnet_(subnet), order_(std::move(order)), place_(order_.size()) {
    for (uint32_t i = 0; i < order_.size(); ++i) place_[order_[i]] = i;
}

void UpDownWays::find_distances(uint32_t home) {
    down_.assign(subnet_.switch_count(), kFar);
    down_[home] = 0;
    for (size_t i = place_[home]; i-- > 0;) {
        const uint32_t s = order_[i];
        for (const Subnet::Link& link : subnet_.links_of(s))
            if (!is_up(link) && down_[link.to] != kFar)
                down_[s] = std::min(down_[s], down_[link.to] + 1);
    }
    distance_ = down_;
    for (const uint32_t s : order_) {
        if (down_[s] != kFar) continue;
        for (const Subnet::Link& link : subnet_.links_of(s))
            if (is_up(link) && distance_[link.to] != kFar)
                distance_[s] = std::min(distance_[s], distance_[link.to] + 1);
    }
}

void UpDownWays::find(uint32_t home, Ways& ways) {
    find_distances(home);
    ways.clear();
    for (size_t i = place_[home]; i-- > 0;) {
        const uint32_t s = order_[i];
        if (down_[s] == kFar) continue;
        ways.begin(s);
        for (uint32_t id = subnet_.first_link(s); id < subnet_.end_link(s); ++id) {
            const Subnet::Link& link = subnet_.link(id);
            if (!is_up(link) && down_[link.to] != kFar && down_[link.to] + 1 == down_[s])
                ways.add(id, link.to);
        }
    }
    for (const uint32_t s : order_) {
        if (down_[s] != kFar || distance_[s] == kFar) continue;
        ways.begin(s);
        for (uint32_t id = subnet_.first_link(s); id < subnet_.end_link(s); ++id) {
            const Subnet::Link& link = subnet_.link(id);
            if (is_up(link) && distance_[link.to] != kFar && distance_[link.to] + 1 == distance_[s])
                ways.add(id, link.to);
        }
    }
}

std::vector<uint32_t> ranks_of(const Subnet& subnet) {
    std::vector<uint32_t> rank(subnet.switch_count(), kFar);
    std::vector<uint32_t> queue;
    for (uint32_t s = 0; s < subnet.switch_count(); ++s)
        if (subnet.hosts_at(s) > 0) {
            rank[s] = 0;
            queue.push_back(s);
        }
    spread(subnet, rank, queue);
    for (uint32_t& each : rank)
        if (each == kFar) each = 0;  // a piece without hosts
    return rank;
}

std::vector<uint32_t> order_by_rank(const Subnet& subnet) {
    std::vector<uint32_t> depth = ranks_of(subnet);
    const uint32_t highest = depth.empty() ? 0 : *std::max_element(depth.begin(), depth.end());
    if (highest == 0) return {};
    for (uint32_t& each : depth) each = highest - each;
    return ordered_by(depth);
}

std::vector<uint32_t> order_from_roots(const Subnet& subnet) {
    return ordered_by(distances_from_roots(subnet));
}

}  // namespace tulle::control
