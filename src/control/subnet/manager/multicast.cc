#include "control/subnet/manager/multicast.h"

#include <algorithm>

namespace tulle::control {
namespace {

class TreeMaker {
public:
    TreeMaker(const Subnet& subnet, std::span<const uint32_t> order,
              std::span<const GroupPlace> members, uint16_t lid)
        : subnet_(subnet), members_(members), lid_(lid), distance_(subnet.switch_count()) {
        for (const GroupPlace& member : members) homes_.push_back(member.home);
        std::ranges::sort(homes_);
        homes_.erase(std::unique(homes_.begin(), homes_.end()), homes_.end());
        if (order.size() != subnet.switch_count()) return;
        place_.resize(order.size());
        for (uint32_t i = 0; i < order.size(); ++i) place_[order[i]] = i;
    }

    std::vector<TreePort> make() {
        std::vector<TreePort> ports;
        if (homes_.empty()) return ports;
        uint32_t root = root_above();
        const bool goes_down = root != kNone;
        if (!goes_down) root = root_between();
        search(root, goes_down);
        std::vector<bool> is_in(subnet_.switch_count());
        is_in[root] = true;
        for (const uint32_t home : homes_)
            for (uint32_t s = home; distance_[s] != kNone && !is_in[s];) {
                is_in[s] = true;
                const Subnet::Link& link = subnet_.link(parent_[s]);  // from the parent to here
                ports.push_back({link.from, link.port});
                ports.push_back({link.to, link.to_port});
                s = link.from;
            }
        for (const GroupPlace& member : members_)
            if (member.receives && is_in[member.home]) ports.push_back({member.home, member.port});
        std::ranges::sort(ports);
        ports.erase(std::unique(ports.begin(), ports.end()), ports.end());
        return ports;
    }

private:
    bool is_down(const Subnet::Link& link) const { return place_[link.to] > place_[link.from]; }

    // The nearest switch that reaches every home by going down; the group's LID breaks ties.
    uint32_t root_above() {
        if (place_.empty()) return kNone;
        std::vector<uint32_t> reached(subnet_.switch_count());
        std::vector<uint32_t> far(subnet_.switch_count());
        for (const uint32_t home : homes_) {
            search_up(home);
            for (const uint32_t s : queue_) {
                ++reached[s];
                far[s] += distance_[s];
            }
        }
        std::vector<uint32_t> best;
        for (uint32_t s = 0; s < subnet_.switch_count(); ++s) {
            if (reached[s] != homes_.size()) continue;
            if (!best.empty() && far[s] < far[best.front()]) best.clear();
            if (best.empty() || far[s] == far[best.front()]) best.push_back(s);
        }
        return best.empty() ? kNone : best[lid_ % best.size()];
    }

    // The home nearest to the others, from a sample of homes: a good one is enough.
    uint32_t root_between() {
        constexpr size_t kMostLookedAt = 16;
        uint32_t best = homes_.front();
        uint64_t nearest = ~uint64_t{0};
        for (size_t i = 0; i < std::min(homes_.size(), kMostLookedAt); ++i) {
            const uint32_t home =
                homes_[i * homes_.size() / std::min(homes_.size(), kMostLookedAt)];
            search(home, false);
            uint64_t sum = 0;
            for (const uint32_t other : homes_)
                sum += distance_[other] == kNone ? subnet_.switch_count() : distance_[other];
            if (sum >= nearest) continue;
            nearest = sum;
            best = home;
        }
        return best;
    }

    template <class Take>
    void search_from(uint32_t start, Take&& takes) {
        std::ranges::fill(distance_, kNone);
        parent_.assign(subnet_.switch_count(), kNone);
        distance_[start] = 0;
        queue_.assign(1, start);
        for (size_t i = 0; i < queue_.size(); ++i) {
            const auto links = subnet_.links_of(queue_[i]);
            for (size_t j = 0; j < links.size(); ++j) {
                const size_t at = (j + lid_) % links.size();
                const Subnet::Link& link = links[at];
                if (distance_[link.to] != kNone || !takes(link)) continue;
                distance_[link.to] = distance_[queue_[i]] + 1;
                parent_[link.to] = subnet_.first_link(queue_[i]) + static_cast<uint32_t>(at);
                queue_.push_back(link.to);
            }
        }
    }
    void search(uint32_t root, bool goes_down) {
        search_from(root, [&](const Subnet::Link& link) { return !goes_down || is_down(link); });
    }
    void search_up(uint32_t home) {
        search_from(home, [&](const Subnet::Link& link) { return !is_down(link); });
    }

    const Subnet& subnet_;
    std::span<const GroupPlace> members_;
    uint16_t lid_;
    std::vector<uint32_t> homes_;
    std::vector<uint32_t> place_;     // by switch: place in the order; empty: no order
    std::vector<uint32_t> distance_;  // by switch, of the last search
    std::vector<uint32_t> parent_;    // by switch: the link that led there
    std::vector<uint32_t> queue_;     // switches found by the last search
};

}  // namespace

std::vector<TreePort> multicast_tree(const Subnet& subnet, std::span<const uint32_t> order,
                                     std::span<const GroupPlace> members, uint16_t lid) {
    return TreeMaker(subnet, order, members, lid).make();
}

}  // namespace tulle::control
