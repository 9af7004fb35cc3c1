// The allowed next hops of all switches towards one switch. Routing engines differ in these;
// balance.h chooses one of them for each LID.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "control/subnet/subnet.h"

namespace tulle::control {

inline constexpr uint32_t kFar = 0xffff'ffff;  // no way

// An engine fills it for one home at a time.
class Ways {
public:
    struct Way {
        uint32_t link = 0;
        uint32_t to = 0;  // the switch at its end
    };
    // A switch and its ways. They lead to the home or to switches earlier in the list.
    struct Step {
        uint32_t from = 0;
        uint32_t first = 0;
        uint32_t end = 0;
    };

    void clear() {
        steps_.clear();
        ways_.clear();
    }
    // Starts the ways of the next switch; add() appends to them.
    void begin(uint32_t from) { steps_.push_back({from, size(), size()}); }
    void add(uint32_t link, uint32_t to) {
        ways_.push_back({link, to});
        steps_.back().end = size();
    }
    bool last_is_empty() const { return steps_.back().first == steps_.back().end; }
    void drop_last() { steps_.pop_back(); }

    std::span<const Step> steps() const { return steps_; }
    std::span<const Way> ways(const Step& step) const {
        return std::span(ways_).subspan(step.first, step.end - step.first);
    }

private:
    uint32_t size() const { return static_cast<uint32_t>(ways_.size()); }

    std::vector<Step> steps_;
    std::vector<Way> ways_;
};

// Allows every link on a shortest path.
class ShortestWays {
public:
    explicit ShortestWays(const Subnet& subnet) : subnet_(subnet) {}
    void find(uint32_t home, Ways& ways);

private:
    const Subnet& subnet_;
    std::vector<uint32_t> distance_;
    std::vector<uint32_t> queue_;
};

// Up first, then down, never up again, in one order of all switches, high to low. A switch sends
// down if it can reach the home by going down alone; otherwise it sends up. A packet that went down
// never goes up again, so no credit loop can form. A table does not know where a packet came from,
// so a switch sends down even if up is shorter.
class UpDownWays {
public:
    // `order`: all switches, the highest first.
    UpDownWays(const Subnet& subnet, std::vector<uint32_t> order);
    // Leaves out switches that have no legal way.
    void find(uint32_t home, Ways& ways);

private:
    bool is_up(const Subnet::Link& link) const { return place_[link.to] < place_[link.from]; }
    void find_distances(uint32_t home);

    const Subnet& subnet_;
    std::vector<uint32_t> order_;
    std::vector<uint32_t> place_;     // by switch: where it stands in the order
    std::vector<uint32_t> down_;      // distance by going down alone
    std::vector<uint32_t> distance_;  // along legal ways
};

// The distance of each switch from hosts: 0 if it has hosts. Leaves of a tree are 0, spines 1.
std::vector<uint32_t> ranks_of(const Subnet& subnet);

// Switches high to low. By rank suits trees; it is empty if all ranks are equal. In a tree that
// lost cables, some pairs of hosts may then be joined only by a way down and up again. From roots
// orders by the distance from one switch, and leaves every connected pair a legal way.
std::vector<uint32_t> order_by_rank(const Subnet& subnet);
std::vector<uint32_t> order_from_roots(const Subnet& subnet);

}  // namespace tulle::control
