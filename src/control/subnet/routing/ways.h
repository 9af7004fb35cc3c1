// The next hops that are allowed towards one switch, for all others: what routing engines differ
// in. Which of them a LID gets is up to balance.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "control/subnet/subnet.h"

namespace tulle::control {

inline constexpr uint32_t kFar = 0xffff'ffff;  // no way

// Filled for one home at a time, by an engine.
class Ways {
public:
    struct Way {
        uint32_t link = 0;
        uint32_t to = 0;  // the switch behind it
    };
    // A switch and its ways; all of them lead to the home or to switches earlier in the list.
    struct Step {
        uint32_t from = 0;
        uint32_t first = 0;
        uint32_t end = 0;
    };

    void clear() {
        steps_.clear();
        ways_.clear();
    }
    // Starts the ways of the next switch; add() then takes them.
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

// Every link on a shortest path.
class ShortestWays {
public:
    explicit ShortestWays(const Subnet& subnet) : subnet_(subnet) {}
    void find(uint32_t home, Ways& ways);

private:
    const Subnet& subnet_;
    std::vector<uint32_t> distance_;
    std::vector<uint32_t> queue_;
};

// Up first, then down, never up again. Switches stand in one order, high to low. From where the
// home can be reached by going down alone packets do so, from elsewhere they go up: what has gone
// down never goes up again, so no circle of full buffers can close. A table does not know where a
// packet came from, hence down even where up is shorter.
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

// How far each switch is from hosts: 0 where they hang on it. Leaves of a tree are 0, spines 1.
std::vector<uint32_t> ranks_of(const Subnet& subnet);

// Switches high to low. By rank: what a tree wants; empty where all ranks are equal. A tree that
// lost cables may then have pairs of hosts that only a way down and up again joins. From roots: by
// the distance from one switch, which leaves no connected pair without a legal way.
std::vector<uint32_t> order_by_rank(const Subnet& subnet);
std::vector<uint32_t> order_from_roots(const Subnet& subnet);

}  // namespace tulle::control
