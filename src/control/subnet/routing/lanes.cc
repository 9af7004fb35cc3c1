#include "control/subnet/routing/lanes.h"

#include <algorithm>
#include <cstring>

#include "control/subnet/routing/link_pairs.h"

namespace tulle::control {
namespace {

// The dependencies of one lane: pairs of links, each with the number of paths that need it.
class Dependencies {
public:
    explicit Dependencies(const Subnet& subnet) : pairs_(subnet) {}
    void empty() { count_.assign(pairs_.count(), 0); }
    void add(uint32_t in, uint32_t out) { ++count_[pairs_.number(in, out)]; }
    void remove(uint32_t in, uint32_t out) { --count_[pairs_.number(in, out)]; }
    uint32_t count(uint32_t in, uint32_t out) const { return count_[pairs_.number(in, out)]; }

private:
    LinkPairs pairs_;
    std::vector<uint32_t> count_;
};

class LaneAssigner {
public:
    LaneAssigner(const Subnet& subnet, const ForwardingTables& tables, const Lanes& now)
        : subnet_(subnet),
          tables_(tables),
          dependencies_(subnet),
          levels_(now.service_levels),
          lane_count_(now.count),
          layers_(now.layers) {
        if (levels_.empty()) levels_.assign(size_t{subnet.switch_count()} * subnet.lid_end(), 0);
    }

    // Puts those paths to a LID that go up after going down on lane 1, unless they are on a higher
    // lane. Other paths go on lane 0.
    void separate(uint32_t lid, const std::vector<uint32_t>& place) {
        for (uint32_t s = 0; s < subnet_.switch_count(); ++s) {
            if (!path_counts(subnet_, s, lid)) continue;
            move(lid, s,
                 is_legal(lid, s, place) ? uint8_t{0} : std::max<uint8_t>(level(lid, s), 1));
        }
    }

    void move(uint32_t lid, uint32_t source, uint8_t lane) {
        level(lid, source) = lane;
        lane_count_ = std::max<uint8_t>(lane_count_, lane + 1);
    }

    // Lanes below `first` must have no cycle.
    std::optional<Lanes> assign(uint8_t first, uint8_t max_lanes) {
        if (lane_count_ > max_lanes) return std::nullopt;
        max_lanes_ = max_lanes;
        if (layers_.size() > first) layers_.resize(first);
        for (uint8_t lane = first; lane < lane_count_; ++lane) {
            count_paths(lane);
            if (!break_circles(lane)) return std::nullopt;
            layers_.push_back(layers());
        }
        Lanes lanes;
        lanes.count = lane_count_;
        if (layers_.size() == lane_count_) lanes.layers = std::move(layers_);
        if (lane_count_ > 1) lanes.service_levels = std::move(levels_);
        return lanes;
    }

private:
    enum class Visit : uint8_t { none, open, done };
    struct Open {
        uint32_t link = 0;
        uint32_t next = 0;  // the link to visit next
    };

    uint8_t& level(uint32_t lid, uint32_t source) {
        return levels_[size_t{lid} * subnet_.switch_count() + source];
    }

    template <class Take>
    void walk(uint32_t lid, uint32_t source, Take&& take) const {
        for_each_dependency(subnet_, tables_, lid, source, take);
    }

    bool is_legal(uint32_t lid, uint32_t source, const std::vector<uint32_t>& place) const {
        bool is_so = true;
        walk(lid, source, [&](uint32_t in, uint32_t out) {
            const bool came_down = place[subnet_.link(in).to] > place[subnet_.link(in).from];
            is_so &= !came_down || place[subnet_.link(out).to] > place[subnet_.link(out).from];
        });
        return is_so;
    }

    void count_paths(uint8_t lane) {
        dependencies_.empty();
        for (uint32_t lid = 0; lid < subnet_.lid_end(); ++lid) {
            // Most LIDs have no path on a higher lane: a scan of the row shows it.
            if (subnet_.place(lid).home == kNone ||
                std::memchr(&level(lid, 0), lane, subnet_.switch_count()) == nullptr)
                continue;
            for (uint32_t s = 0; s < subnet_.switch_count(); ++s)
                if (level(lid, s) == lane && path_counts(subnet_, s, lid))
                    walk(lid, s, [&](uint32_t in, uint32_t out) { dependencies_.add(in, out); });
        }
    }

    // Searches depth first. Finished links stay finished, since dependencies only disappear. False:
    // a cycle remains, and there is no lane to move its paths to.
    bool break_circles(uint8_t lane) {
        visit_.assign(subnet_.link_count(), Visit::none);
        done_.clear();
        for (uint32_t link = 0; link < subnet_.link_count(); ++link) {
            if (visit_[link] != Visit::none) continue;
            open(link);
            while (!stack_.empty())
                if (!step(lane)) return false;
        }
        return true;
    }

    void open(uint32_t link) {
        visit_[link] = Visit::open;
        stack_.push_back({link, subnet_.first_link(subnet_.link(link).to)});
    }

    bool step(uint8_t lane) {
        Open& top = stack_.back();
        if (top.next == subnet_.end_link(subnet_.link(top.link).to)) {
            visit_[top.link] = Visit::done;
            done_.push_back(top.link);
            stack_.pop_back();
            return true;
        }
        const uint32_t next = top.next++;
        if (dependencies_.count(top.link, next) == 0 || visit_[next] == Visit::done) return true;
        if (visit_[next] == Visit::none) {
            open(next);
            return true;
        }
        if (lane + 1 == max_lanes_) return false;
        break_circle(lane, next);
        return true;
    }

    // A link is done after all that depend on it.
    LinkLayers layers() {
        std::ranges::reverse(done_);
        return layers_in_order(subnet_, done_, [&](uint32_t in, uint32_t out) {
            return dependencies_.count(in, out) > 0;
        });
    }

    // The cycle is the top of the stack, from `link` on, and back to it.
    void break_circle(uint8_t lane, uint32_t link) {
        size_t first = stack_.size() - 1;
        while (stack_[first].link != link) --first;
        size_t weakest = first;
        uint32_t fewest = 0xffff'ffff;
        for (size_t i = first; i < stack_.size(); ++i) {
            const uint32_t count = dependencies_.count(stack_[i].link, link_after(i, link));
            if (count >= fewest) continue;
            fewest = count;
            weakest = i;
        }
        move_paths(lane, stack_[weakest].link, link_after(weakest, link));
        for (size_t i = weakest + 1; i < stack_.size(); ++i) visit_[stack_[i].link] = Visit::none;
        stack_.resize(weakest + 1);
    }
    uint32_t link_after(size_t i, uint32_t last) const {
        return i + 1 < stack_.size() ? stack_[i + 1].link : last;
    }

    void move_paths(uint8_t lane, uint32_t in, uint32_t out) {
        const uint32_t before = subnet_.link(in).from;
        const uint32_t between = subnet_.link(in).to;
        for (uint32_t lid = 0; lid < subnet_.lid_end(); ++lid) {
            const auto row = tables_.row(lid);
            if (row[before] != subnet_.link(in).port || row[between] != subnet_.link(out).port)
                continue;
            for (uint32_t s = 0; s < subnet_.switch_count(); ++s)
                if (level(lid, s) == lane && path_counts(subnet_, s, lid) && crosses(lid, s, in))
                    move_path(lid, s);
        }
        lane_count_ = std::max<uint8_t>(lane_count_, lane + 2);
    }

    bool crosses(uint32_t lid, uint32_t source, uint32_t link) const {
        bool found = false;
        walk(lid, source, [&](uint32_t in, uint32_t) { found |= in == link; });
        return found;
    }

    void move_path(uint32_t lid, uint32_t source) {
        walk(lid, source, [&](uint32_t in, uint32_t out) { dependencies_.remove(in, out); });
        ++level(lid, source);
    }

    const Subnet& subnet_;
    const ForwardingTables& tables_;
    Dependencies dependencies_;
    std::vector<uint8_t> levels_;  // by LID and switch
    uint8_t lane_count_;
    uint8_t max_lanes_ = 0;
    std::vector<Visit> visit_;  // by link
    std::vector<Open> stack_;
    std::vector<uint32_t> done_;  // links, in the order in which they were
    std::vector<LinkLayers> layers_;
};

// Finds the paths whose links do not rise by the layers of their lane.
class LaneFitter {
public:
    struct Move {
        uint32_t lid = 0;
        uint32_t source = 0;
        uint8_t level = 0;
        bool fits = false;
    };

    LaneFitter(const Subnet& subnet, const ForwardingTables& tables, const Lanes& lanes)
        : subnet_(subnet), tables_(tables), lanes_(lanes) {}

    void fit(uint32_t lid) {
        if (subnet_.place(lid).home == kNone) return;
        if (lanes_.service_levels.empty() && whole_tree_fits(lid)) return;
        for (uint32_t s = 0; s < subnet_.switch_count(); ++s)
            if (path_counts(subnet_, s, lid)) fit_path(lid, s);
    }

    const std::vector<Move>& moves() const { return moves_; }
    // For paths that fit no lane.
    uint8_t last_lane() const { return std::max<uint8_t>(lanes_.count - 1, 1); }

private:
    uint32_t layer(uint8_t lane, uint32_t link) const {
        const Subnet::Link& each = subnet_.link(link);
        return lanes_.layers[lane][subnet_.port_index(each.from, each.port)];
    }

    // Most trees fit as a whole, and a tree has far fewer links than all its paths together.
    bool whole_tree_fits(uint32_t lid) const {
        const auto row = tables_.row(lid);
        for (uint32_t s = 0; s < subnet_.switch_count(); ++s) {
            const uint32_t in = subnet_.link_at(s, row[s]);
            if (in == kNone) continue;
            const uint32_t next = subnet_.link(in).to;
            const uint32_t out = subnet_.link_at(next, row[next]);
            if (out != kNone && layer(0, in) >= layer(0, out)) return false;
        }
        return true;
    }

    void fit_path(uint32_t lid, uint32_t source) {
        const uint8_t level = lanes_.service_level(source, lid, subnet_.switch_count());
        if (path_fits(lid, source, level)) return;
        for (uint8_t lane = 0; lane < lanes_.count; ++lane) {
            if (!path_fits(lid, source, lane)) continue;
            moves_.push_back({lid, source, lane, true});
            return;
        }
        moves_.push_back({lid, source, last_lane(), false});
    }

    bool path_fits(uint32_t lid, uint32_t source, uint8_t lane) const {
        bool fits = true;
        for_each_dependency(subnet_, tables_, lid, source, [&](uint32_t in, uint32_t out) {
            fits &= layer(lane, in) < layer(lane, out);
        });
        return fits;
    }

    const Subnet& subnet_;
    const ForwardingTables& tables_;
    const Lanes& lanes_;
    std::vector<Move> moves_;
};

}  // namespace

std::optional<Lanes> assign_lanes(const Subnet& subnet, const ForwardingTables& tables,
                                  uint8_t max_lanes, const Lanes& now) {
    return LaneAssigner(subnet, tables, now).assign(0, max_lanes);
}

std::optional<Lanes> assign_lanes_to_detours(const Subnet& subnet, const ForwardingTables& tables,
                                             const std::vector<uint32_t>& order,
                                             const std::vector<uint32_t>& detoured,
                                             uint8_t max_lanes, const Lanes& now) {
    std::vector<uint32_t> place(order.size());
    for (uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
    LaneAssigner assigner(subnet, tables, now);
    for (const uint32_t lid : detoured) assigner.separate(lid, place);
    return assigner.assign(1, max_lanes);
}

bool update_lanes(const Subnet& subnet, const ForwardingTables& tables,
                  const std::vector<uint32_t>& changed, uint8_t max_lanes, Lanes& lanes) {
    if (lanes.layers.size() != lanes.count ||
        lanes.layers.front().size() != subnet.port_index_count())
        return false;
    LaneFitter fitter(subnet, tables, lanes);
    for (const uint32_t lid : changed) fitter.fit(lid);
    if (fitter.moves().empty()) return true;
    LaneAssigner assigner(subnet, tables, lanes);
    uint8_t first = lanes.count;
    for (const LaneFitter::Move& move : fitter.moves()) {
        assigner.move(move.lid, move.source, move.level);
        if (!move.fits) first = fitter.last_lane();
    }
    auto updated = assigner.assign(first, max_lanes);
    if (updated) lanes = std::move(*updated);
    return updated.has_value();
}

}  // namespace tulle::control
