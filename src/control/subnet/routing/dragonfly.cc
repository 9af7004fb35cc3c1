// The minimal routes of a dragonfly (Kim, Dally, Scott and Abts, 2008): inside the group to the
// router with a cable to the other group, over that cable, then inside that group to the router of
// the host. The lane is 0 before a cable between groups and 1 after it, so a packet only waits for
// packets that are nearer to the end of their paths.
#include <algorithm>
#include <set>

#include "control/subnet/routing/balance.h"
#include "control/subnet/routing/engines.h"

namespace tulle::control {
namespace {

// A group is a set of switches that are all cabled to one another; every two groups share a cable.
struct Groups {
    uint32_t count = 0;
    std::vector<uint32_t> group_of;  // by switch
};

using Neighbours = std::vector<std::set<uint32_t>>;

Neighbours neighbours_of(const Subnet& subnet) {
    Neighbours neighbours(subnet.switch_count());
    for (uint32_t id = 0; id < subnet.link_count(); ++id)
        neighbours[subnet.link(id).from].insert(subnet.link(id).to);
    return neighbours;
}

// A group consists of two of its switches and all neighbours that they share. The group of a switch
// is the largest clique that it is in.
std::vector<uint32_t> clique_of(const Neighbours& neighbours, uint32_t s, uint32_t other) {
    std::vector<uint32_t> clique{s, other};
    std::set_intersection(neighbours[s].begin(), neighbours[s].end(), neighbours[other].begin(),
                          neighbours[other].end(), std::back_inserter(clique));
    for (const uint32_t a : clique)
        for (const uint32_t b : clique)
            if (a != b && !neighbours[a].contains(b)) return {};
    return clique;
}

std::vector<uint32_t> largest_clique(const Neighbours& neighbours, uint32_t s) {
    std::vector<uint32_t> largest;
    for (const uint32_t other : neighbours[s]) {
        if (std::find(largest.begin(), largest.end(), other) != largest.end()) continue;
        std::vector<uint32_t> clique = clique_of(neighbours, s, other);
        if (clique.size() > largest.size()) largest = std::move(clique);
    }
    return largest;
}

std::optional<Groups> groups_of(const Subnet& subnet) {
    const Neighbours neighbours = neighbours_of(subnet);
    Groups groups{0, std::vector(subnet.switch_count(), kNone)};
    for (uint32_t s = 0; s < subnet.switch_count(); ++s) {
        if (groups.group_of[s] != kNone) continue;
        const std::vector<uint32_t> clique = largest_clique(neighbours, s);
        if (clique.size() < 3) return std::nullopt;  // pairs do not count: every cable is one
        for (const uint32_t member : clique) {
            if (groups.group_of[member] != kNone) return std::nullopt;
            groups.group_of[member] = groups.count;
        }
        ++groups.count;
    }
    std::set<std::pair<uint32_t, uint32_t>> joined;
    for (uint32_t id = 0; id < subnet.link_count(); ++id) {
        const uint32_t a = groups.group_of[subnet.link(id).from];
        const uint32_t b = groups.group_of[subnet.link(id).to];
        if (a != b) joined.insert({a, b});
    }
    if (joined.size() != size_t{groups.count} * (groups.count - 1)) return std::nullopt;
    return groups;
}

class DragonflyWays {
public:
    DragonflyWays(const Subnet& subnet, const Groups& groups) : subnet_(subnet), groups_(groups) {}

    void find(uint32_t home, Ways& ways) {
        ways.clear();
        const uint32_t there = groups_.group_of[home];
        has_cable_.assign(subnet_.switch_count(), false);
        for (uint32_t s = 0; s < subnet_.switch_count(); ++s)
            if (groups_.group_of[s] == there && s != home)
                add(s, ways, [&](uint32_t to) { return to == home; });
        for (uint32_t s = 0; s < subnet_.switch_count(); ++s)
            if (groups_.group_of[s] != there) {
                add(s, ways, [&](uint32_t to) { return groups_.group_of[to] == there; });
                has_cable_[s] = !ways.last_is_empty();
                if (!has_cable_[s]) ways.drop_last();
            }
        for (uint32_t s = 0; s < subnet_.switch_count(); ++s)
            if (groups_.group_of[s] != there && !has_cable_[s])
                add(s, ways, [&](uint32_t to) {
                    return groups_.group_of[to] == groups_.group_of[s] && has_cable_[to];
                });
    }

private:
    template <class Takes>
    void add(uint32_t s, Ways& ways, Takes&& takes) {
        ways.begin(s);
        for (uint32_t id = subnet_.first_link(s); id < subnet_.end_link(s); ++id)
            if (takes(subnet_.link(id).to)) ways.add(id, subnet_.link(id).to);
    }

    const Subnet& subnet_;
    const Groups& groups_;
    std::vector<bool> has_cable_;  // by switch: it has one to the group of the home
};

// Class 0 is a host's port, class 1 a port inside the group, class 2 a port to another group.
LaneRule rule_of(const Subnet& subnet, const Groups& groups) {
    LaneRule rule;
    rule.class_count = 3;
    rule.port_class.assign(subnet.port_index_count(), 0);
    for (uint32_t id = 0; id < subnet.link_count(); ++id) {
        const Subnet::Link& link = subnet.link(id);
        const bool is_inside = groups.group_of[link.from] == groups.group_of[link.to];
        rule.port_class[subnet.port_index(link.from, link.port)] = is_inside ? 1 : 2;
    }
    for (uint32_t in = 0; in < rule.class_count; ++in)
        for (uint32_t out = 0; out < rule.class_count; ++out)
            for (uint32_t level = 0; level < kServiceLevels; ++level)
                rule.lanes.push_back(in == 2 && out == 1 ? 1 : 0);
    return rule;
}

}  // namespace

Routing route_dragonfly(const Subnet& subnet, const RoutingOptions& options) {
    const auto groups = groups_of(subnet);
    if (!groups || groups->count < 2 || options.max_lanes < 2) {
        Routing routing = route_dfsssp(subnet, options);
        if (routing.note.empty() && subnet.link_count() > 0)
            routing.note = "the fabric is no whole dragonfly: shortest paths with lanes";
        return routing;
    }
    Routing routing;
    routing.tables = fill(subnet, DragonflyWays(subnet, *groups), homes_in_order(subnet)).tables;
    routing.is_deadlock_free = true;
    routing.lanes.count = 2;
    routing.lanes.rule = rule_of(subnet, *groups);
    return routing;
}

}  // namespace tulle::control
