#include "control/subnet/routing/tree_order.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "control/subnet/routing/ways.h"

namespace tulle::control {
namespace {

// Joins switches into sets; a set is known by its lowest key.
class Sets {
public:
    explicit Sets(std::vector<uint32_t> keys) : keys_(std::move(keys)), parent_(keys_.size()) {
        std::iota(parent_.begin(), parent_.end(), 0);
    }
    uint32_t key(uint32_t s) { return keys_[find(s)]; }
    void join(uint32_t a, uint32_t b) {
        a = find(a);
        b = find(b);
        if (keys_[b] < keys_[a]) std::swap(a, b);
        parent_[b] = a;
    }

private:
    uint32_t find(uint32_t s) {
        while (parent_[s] != s) s = parent_[s] = parent_[parent_[s]];
        return s;
    }
    std::vector<uint32_t> keys_;
    std::vector<uint32_t> parent_;
};

std::vector<uint32_t> lowest_lids(const Subnet& subnet) {
    std::vector<uint32_t> lowest(subnet.switch_count(), kFar);
    for (uint32_t s = 0; s < subnet.switch_count(); ++s)
        for (const uint16_t lid : subnet.lids_at(s))
            if (subnet.is_host(lid)) lowest[s] = std::min(lowest[s], uint32_t{lid});
    return lowest;
}

uint32_t highest_of(const std::vector<uint32_t>& rank) {
    return rank.empty() ? 0 : *std::max_element(rank.begin(), rank.end());
}

using Keys = std::vector<std::vector<uint32_t>>;  // by switch: keys of its sets, largest first

std::vector<uint32_t> sorted_by(const std::vector<uint32_t>& first, const Keys& keys,
                                const std::vector<uint32_t>& last) {
    std::vector<uint32_t> order(keys.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
        return std::tie(first[a], keys[a], last[a]) < std::tie(first[b], keys[b], last[b]);
    });
    return order;
}

}  // namespace

std::vector<uint32_t> homes_in_tree_order(const Subnet& subnet) {
    const std::vector<uint32_t> rank = ranks_of(subnet);
    const std::vector<uint32_t> lowest = lowest_lids(subnet);
    Keys keys(subnet.switch_count());
    Sets branches(lowest);
    for (uint32_t tier = 0; tier <= highest_of(rank); ++tier) {
        for (uint32_t id = 0; id < subnet.link_count(); ++id) {
            const Subnet::Link& link = subnet.link(id);
            if (std::max(rank[link.from], rank[link.to]) == tier) branches.join(link.from, link.to);
        }
        for (uint32_t s = 0; s < subnet.switch_count(); ++s)
            keys[s].insert(keys[s].begin(), branches.key(s));
    }
    return sorted_by(rank, keys, lowest);
}

std::vector<uint32_t> places_by_plane(const Subnet& subnet) {
    const std::vector<uint32_t> rank = ranks_of(subnet);
    std::vector<uint32_t> number(subnet.switch_count());
    std::iota(number.begin(), number.end(), 0);
    Keys keys(subnet.switch_count());
    Sets planes(number);
    for (uint32_t tier = highest_of(rank); tier > 0; --tier) {
        for (uint32_t id = 0; id < subnet.link_count(); ++id) {
            const Subnet::Link& link = subnet.link(id);
            if (std::min(rank[link.from], rank[link.to]) == tier) planes.join(link.from, link.to);
        }
        for (uint32_t s = 0; s < subnet.switch_count(); ++s)
            keys[s].insert(keys[s].begin(), planes.key(s));
    }
    const std::vector<uint32_t> same(subnet.switch_count(), 0);
    const std::vector<uint32_t> order = sorted_by(same, keys, number);
    std::vector<uint32_t> places(order.size());
    for (uint32_t i = 0; i < order.size(); ++i) places[order[i]] = i;
    return places;
}

}  // namespace tulle::control
