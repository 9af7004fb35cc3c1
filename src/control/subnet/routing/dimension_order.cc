#include <algorithm>

#include "control/subnet/routing/balance.h"
#include "control/subnet/routing/engines.h"
#include "control/subnet/routing/torus_shape.h"

namespace tulle::control {
namespace {

constexpr size_t kMostRings = 4;  // each takes one bit of the service level

class DimensionOrderWays {
public:
    DimensionOrderWays(const Subnet& subnet, const TorusShape& shape)
        : subnet_(subnet), shape_(shape) {}

    void find(uint32_t home, Ways& ways) {
        by_distance_.assign(1, {});
        for (uint32_t s = 0; s < subnet_.switch_count(); ++s) {
            const uint32_t hops = distance(s, home);
            if (hops >= by_distance_.size()) by_distance_.resize(hops + 1);
            by_distance_[hops].push_back(s);
        }
        ways.clear();
        for (size_t hops = 1; hops < by_distance_.size(); ++hops)
            for (const uint32_t s : by_distance_[hops]) add_step(s, home, ways);
    }

    // One bit for each ring in which the path passes from the last switch to the first or back.
    uint8_t service_level(uint32_t s, uint32_t home) const {
        uint8_t level = 0;
        unsigned ring = 0;
        for (uint32_t d = 0; d < shape_.dimensions.size(); ++d) {
            if (!shape_.dimensions[d].is_ring) continue;
            const uint32_t from = shape_.at(s, d);
            const uint32_t to = shape_.at(home, d);
            const bool crosses = from != to && (goes_up(s, home, d) ? to < from : to > from);
            level = static_cast<uint8_t>(level | crosses << ring++);
        }
        return level;
    }

private:
    // The distance upwards, around the ring if there is one.
    uint32_t upwards(uint32_t s, uint32_t home, uint32_t d) const {
        const uint32_t size = shape_.dimensions[d].size;
        return (shape_.at(home, d) + size - shape_.at(s, d)) % size;
    }
    // Takes the shorter way round. If both are equal, even places go upwards.
    bool goes_up(uint32_t s, uint32_t home, uint32_t d) const {
        if (!shape_.dimensions[d].is_ring) return shape_.at(s, d) < shape_.at(home, d);
        const uint32_t up = upwards(s, home, d);
        const uint32_t down = shape_.dimensions[d].size - up;
        return up == down ? shape_.at(s, d) % 2 == 0 : up < down;
    }
    uint32_t distance(uint32_t s, uint32_t home) const {
        uint32_t sum = 0;
        for (uint32_t d = 0; d < shape_.dimensions.size(); ++d) {
            const uint32_t up = upwards(s, home, d);
            if (up == 0) continue;
            const auto& [size, is_ring] = shape_.dimensions[d];
            const uint32_t low = std::min(shape_.at(s, d), shape_.at(home, d));
            const uint32_t high = std::max(shape_.at(s, d), shape_.at(home, d));
            sum += is_ring ? std::min(up, size - up) : high - low;
        }
        return sum;
    }
    void add_step(uint32_t s, uint32_t home, Ways& ways) const {
        uint32_t d = 0;
        while (shape_.at(s, d) == shape_.at(home, d)) ++d;
        const uint32_t size = shape_.dimensions[d].size;
        const uint32_t next = (shape_.at(s, d) + (goes_up(s, home, d) ? 1 : size - 1)) % size;
        ways.begin(s);
        for (uint32_t id = subnet_.first_link(s); id < subnet_.end_link(s); ++id)
            if (shape_.dimension_of[id] == d && shape_.at(subnet_.link(id).to, d) == next)
                ways.add(id, subnet_.link(id).to);
    }

    const Subnet& subnet_;
    const TorusShape& shape_;
    std::vector<std::vector<uint32_t>> by_distance_;
};

size_t ring_count(const TorusShape& shape) {
    return static_cast<size_t>(std::count_if(shape.dimensions.begin(), shape.dimensions.end(),
                                             [](const auto& each) { return each.is_ring; }));
}

// Class 0 is a port of a host or of a line; class r + 1 is a port of ring r. In a ring, the lane is
// the ring's bit of the service level. Paths that pass the last switch are at most half the ring
// long, so the dependencies of neither lane go all the way round.
LaneRule rule_of(const Subnet& subnet, const TorusShape& shape) {
    std::vector<uint8_t> class_of;  // by dimension
    uint8_t rings = 0;
    for (const TorusShape::Dimension& dimension : shape.dimensions)
        class_of.push_back(dimension.is_ring ? ++rings : uint8_t{0});
    LaneRule rule;
    rule.class_count = static_cast<uint8_t>(rings + 1);
    rule.port_class.assign(subnet.port_index_count(), 0);
    for (uint32_t id = 0; id < subnet.link_count(); ++id) {
        const Subnet::Link& link = subnet.link(id);
        rule.port_class[subnet.port_index(link.from, link.port)] = class_of[shape.dimension_of[id]];
    }
    for (uint32_t in = 0; in < rule.class_count; ++in)
        for (uint32_t out = 0; out < rule.class_count; ++out)
            for (uint32_t level = 0; level < kServiceLevels; ++level)
                rule.lanes.push_back(out > 0 ? static_cast<uint8_t>(level >> (out - 1) & 1) : 0);
    return rule;
}

}  // namespace

Routing route_dimension_order(const Subnet& subnet, const RoutingOptions& options) {
    const auto shape = torus_shape(subnet);
    if (!shape || ring_count(*shape) > kMostRings ||
        (ring_count(*shape) > 0 && options.max_lanes < 2)) {
        Routing routing = route_dfsssp(subnet, options);
        if (routing.note.empty() && subnet.link_count() > 0)
            routing.note = "the fabric is no whole torus: shortest paths with lanes";
        return routing;
    }
    Routing routing;
    DimensionOrderWays ways(subnet, *shape);
    routing.tables = fill(subnet, ways, homes_in_order(subnet)).tables;
    routing.is_deadlock_free = true;
    if (ring_count(*shape) == 0) return routing;
    routing.lanes.count = 2;
    routing.lanes.rule = rule_of(subnet, *shape);
    routing.lanes.service_levels.assign(size_t{subnet.switch_count()} * subnet.lid_end(), 0);
    for (uint32_t lid = 0; lid < subnet.lid_end(); ++lid) {
        const uint32_t home = subnet.place(lid).home;
        if (home == kNone) continue;
        for (uint32_t s = 0; s < subnet.switch_count(); ++s)
            routing.lanes.service_levels[size_t{lid} * subnet.switch_count() + s] =
                ways.service_level(s, home);
    }
    return routing;
}

}  // namespace tulle::control
