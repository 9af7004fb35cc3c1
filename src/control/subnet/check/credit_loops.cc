#include "control/subnet/check/credit_loops.h"

#include <algorithm>
#include <array>

#include "control/subnet/routing/lanes.h"
#include "control/subnet/routing/link_pairs.h"

namespace tulle::control {
namespace {

// How packets start out: on which lane, with which service level.
struct Start {
    uint8_t level = 0;
    uint8_t lane = 0;
};

// Lanes of an engine. Hosts of one switch send alike.
class EngineLanes {
public:
    EngineLanes(const Subnet& subnet, const Lanes& lanes) : subnet_(subnet), lanes_(lanes) {}

    uint8_t count() const { return lanes_.count; }
    template <class Visit>
    void for_each_start(uint32_t source, uint32_t lid, uint8_t port, Visit&& visit) const {
        const uint8_t level = lanes_.service_level(source, lid, subnet_.switch_count());
        visit(Start{level, lane(source, kSwitchItself, port, level)});
    }
    uint8_t lane(uint32_t s, uint8_t in_port, uint8_t out_port, uint8_t level) const {
        return lanes_.rule.lane(subnet_.port_index(s, in_port), subnet_.port_index(s, out_port),
                                level);
    }

private:
    const Subnet& subnet_;
    const Lanes& lanes_;
};

// Lanes of dumps. Each host may send with a level of its own.
class DumpLanes {
public:
    DumpLanes(const Subnet& subnet, const DumpedLanes& lanes, PathEnds ends)
        : subnet_(subnet), lanes_(lanes), ends_(ends) {}

    uint8_t count() const { return lanes_.count(); }
    template <class Visit>
    void for_each_start(uint32_t source, uint32_t lid, uint8_t port, Visit&& visit) const {
        std::array<bool, size_t{kServiceLevels} * kServiceLevels> seen{};
        for (const uint16_t from : subnet_.lids_at(source)) {
            if (from == lid || !path_counts(from, lid)) continue;
            Start start;
            start.level = lanes_.level(from, lid);
            if (start.level >= kServiceLevels) continue;
            start.lane = lane(source, subnet_.place(from).port, port, start.level);
            bool& is_seen = seen[start.level * kServiceLevels + start.lane];
            if (!is_seen) visit(start);
            is_seen = true;
        }
    }
    uint8_t lane(uint32_t s, uint8_t in_port, uint8_t out_port, uint8_t level) const {
        return lanes_.lane(subnet_.port_index(s, in_port), out_port, level);
    }

private:
    bool path_counts(uint32_t from, uint32_t lid) const {
        const int hosts = int{subnet_.is_host(from)} + int{subnet_.is_host(lid)};
        return hosts == 2 || (hosts == 1 && ends_ == PathEnds::hosts_and_switches);
    }

    const Subnet& subnet_;
    const DumpedLanes& lanes_;
    const PathEnds ends_;
};

template <class AnyLanes>
class LoopFinder {
public:
    LoopFinder(const Subnet& subnet, const ForwardingTables& tables, const AnyLanes& lanes)
        : subnet_(subnet),
          tables_(tables),
          lanes_(lanes),
          pairs_(subnet),
          needed_(size_t{pairs_.count()} * lanes.count() * lanes.count()) {}

    std::optional<CreditLoop> find() {
        for_each_path([this](uint32_t source, uint32_t lid) {
            walk(source, lid, [this](uint32_t in, uint8_t in_lane, uint32_t out, uint8_t out_lane) {
                needed_[number(in, in_lane, out, out_lane)] = true;
            });
            return false;
        });
        CreditLoop loop = find_circle();
        if (loop.parts.empty()) return std::nullopt;
        add_examples(loop);
        return loop;
    }

private:
    size_t number(uint32_t in, uint8_t in_lane, uint32_t out, uint8_t out_lane) const {
        return (size_t{pairs_.number(in, out)} * lanes_.count() + in_lane) * lanes_.count() +
               out_lane;
    }

    // Visits paths until `visit` returns true.
    template <class Visit>
    void for_each_path(Visit&& visit) {
        for (uint32_t lid = 0; lid < subnet_.lid_end(); ++lid) {
            if (subnet_.place(lid).home == kNone) continue;
            for (uint32_t s = 0; s < subnet_.switch_count(); ++s)
                if (path_counts(subnet_, s, lid) && visit(s, lid)) return;
        }
    }

    template <class Take>
    void walk(uint32_t source, uint32_t lid, Take&& take) const {
        const uint8_t port = tables_.port(source, lid);
        if (subnet_.link_at(source, port) == kNone) return;
        lanes_.for_each_start(source, lid, port,
                              [&](Start start) { walk_from(source, lid, start, take); });
    }

    template <class Take>
    void walk_from(uint32_t source, uint32_t lid, Start start, Take&& take) const {
        const auto row = tables_.row(lid);
        uint32_t in = subnet_.link_at(source, row[source]);
        uint8_t in_lane = start.lane;
        // A longer path has a forwarding loop, which the check of reach reports.
        for (uint32_t hops = 0; hops < subnet_.switch_count(); ++hops) {
            const Subnet::Link& link = subnet_.link(in);
            const uint32_t out = subnet_.link_at(link.to, row[link.to]);
            if (out == kNone || in_lane >= lanes_.count()) return;
            const uint8_t out_lane = lanes_.lane(link.to, link.to_port, row[link.to], start.level);
            if (out_lane >= lanes_.count()) return;  // lane 15: switches drop such packets
            take(in, in_lane, out, out_lane);
            in = out;
            in_lane = out_lane;
        }
    }

    enum Visit : uint8_t { kNew, kOpen, kDone };
    // A link on a lane, and the next link and lane to visit after it, as one number.
    struct Open {
        uint32_t link = 0;
        uint8_t lane = 0;
        uint32_t next = 0;
    };
    Visit& visit(uint32_t link, uint8_t lane) {
        return visit_[size_t{link} * lanes_.count() + lane];
    }

    // Searches depth first over links with their lanes.
    CreditLoop find_circle() {
        visit_.assign(size_t{subnet_.link_count()} * lanes_.count(), kNew);
        CreditLoop loop;
        for (uint32_t link = 0; link < subnet_.link_count(); ++link)
            for (uint8_t lane = 0; lane < lanes_.count(); ++lane) {
                if (visit(link, lane) != kNew) continue;
                open(link, lane);
                while (!stack_.empty() && loop.parts.empty()) step(loop);
            }
        return loop;
    }

    void open(uint32_t link, uint8_t lane) {
        visit(link, lane) = kOpen;
        stack_.push_back({link, lane, 0});
    }

    void step(CreditLoop& loop) {
        Open& top = stack_.back();
        const uint32_t s = subnet_.link(top.link).to;
        const uint32_t out = subnet_.first_link(s) + top.next / lanes_.count();
        const auto out_lane = static_cast<uint8_t>(top.next % lanes_.count());
        if (out == subnet_.end_link(s)) {
            visit(top.link, top.lane) = kDone;
            stack_.pop_back();
            return;
        }
        ++top.next;
        if (!needed_[number(top.link, top.lane, out, out_lane)]) return;
        if (visit(out, out_lane) == kNew)
            open(out, out_lane);
        else if (visit(out, out_lane) == kOpen)
            close(out, out_lane, loop);
    }

    // The loop is the top of the stack, from this link on.
    void close(uint32_t link, uint8_t lane, CreditLoop& loop) const {
        size_t first = stack_.size() - 1;
        while (stack_[first].link != link || stack_[first].lane != lane) --first;
        for (size_t i = first; i < stack_.size(); ++i)
            loop.parts.push_back({stack_[i].link, stack_[i].lane, 0, 0});
    }

    // Finds a path for each part. There is one, because each dependency comes from a path.
    void add_examples(CreditLoop& loop) {
        std::vector<bool> known(loop.parts.size());
        size_t missing = loop.parts.size();
        for_each_path([&](uint32_t source, uint32_t lid) {
            walk(source, lid, [&](uint32_t in, uint8_t in_lane, uint32_t out, uint8_t out_lane) {
                for (size_t i = 0; i < loop.parts.size(); ++i) {
                    CreditLoop::Part& part = loop.parts[i];
                    const CreditLoop::Part& next = loop.parts[(i + 1) % loop.parts.size()];
                    if (known[i] || part.link != in || part.lane != in_lane || next.link != out ||
                        next.lane != out_lane)
                        continue;
                    part.source = source;
                    part.lid = lid;
                    known[i] = true;
                    --missing;
                }
            });
            return missing == 0;
        });
    }

    const Subnet& subnet_;
    const ForwardingTables& tables_;
    AnyLanes lanes_;
    LinkPairs pairs_;
    std::vector<bool> needed_;  // by pair of links, and the lane of each
    std::vector<Visit> visit_;  // by link and lane
    std::vector<Open> stack_;
};

}  // namespace

std::optional<CreditLoop> find_credit_loop(const Subnet& subnet, const ForwardingTables& tables,
                                           const Lanes& lanes) {
    return LoopFinder(subnet, tables, EngineLanes(subnet, lanes)).find();
}

std::optional<CreditLoop> find_credit_loop(const Subnet& subnet, const ForwardingTables& tables,
                                           const DumpedLanes& lanes, PathEnds ends) {
    return LoopFinder(subnet, tables, DumpLanes(subnet, lanes, ends)).find();
}

}  // namespace tulle::control
