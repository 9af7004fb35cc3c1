#include "control/subnet/routing/repair.h"

#include <algorithm>
#include <optional>

#include "control/subnet/routing/balance.h"
#include "control/subnet/routing/lanes.h"

namespace tulle::control {
namespace {

class Repairer {
public:
    Repairer(const Subnet& before, const Subnet& after, const Routing& now)
        : before_(before), after_(after), routing_(now), place_(after.switch_count()) {
        for (uint32_t i = 0; i < now.order.size(); ++i) place_[now.order[i]] = i;
        for (uint32_t id = 0; id < before.link_count(); ++id) {
            const Subnet::Link& link = before.link(id);
            if (after.link_at(link.from, link.port) == kNone) broken_.push_back(id);
        }
    }

    // False: the engine must route anew.
    bool repair_tables() {
        for (uint32_t lid = 0; lid < after_.lid_end(); ++lid) {
            const Subnet::Place& place = after_.place(lid);
            const auto row = routing_.tables.row(lid);
            if (place.home == kNone) {
                std::fill(row.begin(), row.end(), kNoPort);
                continue;
            }
            if (!is_crossed(lid)) continue;
            changed_.push_back(lid);
            if (!repair_locally(lid)) again_.push_back(lid);
        }
        return routing_.order.empty() ? find_again(ShortestWays(after_))
                                      : find_again(UpDownWays(after_, routing_.order));
    }

    bool repair_lanes(uint8_t max_lanes) {
        if (!routing_.is_deadlock_free) return true;
        routing_.has_detours |= detours_.joins_any;
        if (!routing_.order.empty() && !routing_.has_detours) return true;
        if (update_lanes(after_, routing_.tables, changed_, max_lanes, routing_.lanes)) return true;
        auto lanes = routing_.order.empty()
                         ? assign_lanes(after_, routing_.tables, max_lanes, routing_.lanes)
                         : assign_lanes_to_detours(after_, routing_.tables, routing_.order,
                                                   detoured_, max_lanes, routing_.lanes);
        if (!lanes) return false;
        routing_.lanes = std::move(*lanes);
        return true;
    }

    Routing take() { return std::move(routing_); }

private:
    bool is_crossed(uint32_t lid) const {
        return std::any_of(broken_.begin(), broken_.end(), [&](uint32_t id) {
            const Subnet::Link& link = before_.link(id);
            return routing_.tables.port(link.from, lid) == link.port;
        });
    }

    bool has_levels(uint32_t lid) const {
        for (uint32_t s = 0; s < after_.switch_count(); ++s)
            if (routing_.lanes.service_level(s, lid, after_.switch_count()) > 0) return true;
        return false;
    }

    // Chooses another port at each switch before a broken cable. False, without changes: one has
    // none.
    bool repair_locally(uint32_t lid) {
        std::vector<std::pair<uint32_t, uint8_t>> found;
        bool takes_detour = false;
        for (const uint32_t id : broken_) {
            const Subnet::Link& old = before_.link(id);
            if (routing_.tables.port(old.from, lid) != old.port) continue;
            auto port = other_port(old, lid);
            // Paths to a switch itself may take a detour: one changed entry instead of a new tree.
            if (!port && !after_.is_host(lid) && !routing_.order.empty()) {
                port = detour_port(old, lid);
                takes_detour = true;
            }
            if (!port) return false;
            found.emplace_back(old.from, *port);
        }
        for (const auto& [s, port] : found) routing_.tables.set(s, lid, port);
        detours_.joins_any |= takes_detour;
        if (takes_detour || has_levels(lid)) detoured_.push_back(lid);
        return true;
    }

    // The port of the shortest path that does not come back to this switch.
    std::optional<uint8_t> detour_port(const Subnet::Link& old, uint32_t lid) const {
        std::optional<uint8_t> best;
        uint32_t fewest = kNone;
        for (const Subnet::Link& link : after_.links_of(old.from)) {
            const auto rest = hops(after_, link.to, lid, old.from);
            if (!rest || *rest >= fewest) continue;
            best = link.port;
            fewest = *rest;
        }
        return best;
    }

    // Of the suitable ports, the one by which the fewest LIDs leave.
    std::optional<uint8_t> other_port(const Subnet::Link& old, uint32_t lid) {
        const auto length = hops(before_, old.from, lid, kNone);
        std::optional<uint8_t> best;
        uint32_t fewest = 0;
        for (const Subnet::Link& link : after_.links_of(old.from)) {
            const auto rest = hops(after_, link.to, lid, old.from);
            if (!length || !rest || *rest + 1 != *length || !is_same_way(old, link, lid)) continue;
            const uint32_t leaving = lids_leaving(link);
            if (best && leaving >= fewest) continue;
            best = link.port;
            fewest = leaving;
        }
        if (best) ++leaving_[after_.port_index(old.from, *best)];
        return best;
    }

    // Whether the path starts in the same direction as before, and never goes up after going down.
    bool is_same_way(const Subnet::Link& old, const Subnet::Link& first, uint32_t lid) const {
        if (routing_.order.empty()) return true;
        if (goes_up(old) != goes_up(first)) return false;
        bool goes_down = !goes_up(first);
        for (uint32_t s = first.to; s != after_.place(lid).home;) {
            const Subnet::Link& link = after_.link(after_.link_at(s, routing_.tables.port(s, lid)));
            if (goes_down && goes_up(link)) return false;
            goes_down |= !goes_up(link);
            s = link.to;
        }
        return true;
    }
    bool goes_up(const Subnet::Link& link) const { return place_[link.to] < place_[link.from]; }

    uint32_t lids_leaving(const Subnet::Link& link) {
        if (leaving_.empty()) {
            leaving_.assign(after_.port_index_count(), 0);
            counted_.assign(after_.switch_count(), false);
        }
        if (!counted_[link.from]) {
            counted_[link.from] = true;
            for (uint32_t lid = 0; lid < after_.lid_end(); ++lid) {
                const uint8_t port = routing_.tables.port(link.from, lid);
                if (after_.is_host(lid) && port <= after_.port_count(link.from))
                    ++leaving_[after_.port_index(link.from, port)];
            }
        }
        return leaving_[after_.port_index(link.from, link.port)];
    }

    // Hops to the home by the current tables; nothing if they end or pass `avoided`.
    std::optional<uint32_t> hops(const Subnet& subnet, uint32_t s, uint32_t lid,
                                 uint32_t avoided) const {
        const uint32_t home = subnet.place(lid).home;
        for (uint32_t count = 0; count <= subnet.switch_count(); ++count) {
            if (s == avoided) return std::nullopt;
            if (s == home) return count;
            const uint32_t link = subnet.link_at(s, routing_.tables.port(s, lid));
            if (link == kNone) return std::nullopt;
            s = subnet.link(link).to;
        }
        return std::nullopt;
    }

    // Routes again the LIDs without a local repair, home by home.
    template <class Engine>
    bool find_again(Engine&& engine) {
        std::stable_sort(again_.begin(), again_.end(), [&](uint32_t a, uint32_t b) {
            return after_.place(a).home < after_.place(b).home;
        });
        Ways ways;
        uint32_t home = kNone;
        for (const uint32_t lid : again_) {
            if (after_.place(lid).home != home) {
                home = after_.place(lid).home;
                engine.find(home, ways);
                detours_ |= add_detours(after_, home, ways);
                if (detours_.joins_hosts && !routing_.order.empty()) return false;
            }
            keep_or_change(lid, ways);
            detoured_.push_back(lid);
        }
        return true;
    }

    void keep_or_change(uint32_t lid, const Ways& ways) {
        const auto row = routing_.tables.row(lid);
        std::vector<bool> has_step(after_.switch_count());
        has_step[after_.place(lid).home] = true;
        for (const Ways::Step& step : ways.steps()) {
            has_step[step.from] = true;
            const auto all = ways.ways(step);
            const bool is_kept = std::any_of(all.begin(), all.end(), [&](const Ways::Way& way) {
                return after_.link(way.link).port == row[step.from];
            });
            if (!is_kept) row[step.from] = after_.link(all[lid % all.size()].link).port;
        }
        for (uint32_t s = 0; s < after_.switch_count(); ++s)
            if (!has_step[s]) row[s] = kNoPort;
    }

    const Subnet& before_;
    const Subnet& after_;
    Routing routing_;
    std::vector<uint32_t> place_;     // by switch: place in the engine's order, if it has one
    std::vector<uint32_t> broken_;    // links of `before`
    std::vector<uint32_t> changed_;   // LIDs
    std::vector<uint32_t> again_;     // those of them without a local repair
    std::vector<uint32_t> detoured_;  // LIDs whose paths may have left the order
    std::vector<uint32_t> leaving_;   // by port: number of LIDs of hosts
    std::vector<bool> counted_;       // by switch
    Detours detours_;
};

void count_changes(const Subnet& subnet, const ForwardingTables& old, Repaired& repaired) {
    const ForwardingTables& tables = repaired.routing.tables;
    const uint32_t blocks = (subnet.lid_end() + kLidsOfBlock - 1) / kLidsOfBlock;
    std::vector<bool> block(size_t{blocks} * subnet.switch_count());
    std::vector<bool> at(subnet.switch_count());
    for (uint32_t lid = 0; lid < subnet.lid_end(); ++lid) {
        const auto row = tables.row(lid);
        const auto was = old.row(lid);
        if (std::equal(row.begin(), row.end(), was.begin())) continue;
        for (uint32_t s = 0; s < subnet.switch_count(); ++s) {
            if (row[s] == was[s]) continue;
            ++repaired.changed_entries;
            block[size_t{s} * blocks + lid / kLidsOfBlock] = true;
            at[s] = true;
        }
    }
    repaired.changed_blocks = static_cast<uint32_t>(std::count(block.begin(), block.end(), true));
    repaired.changed_switches = static_cast<uint32_t>(std::count(at.begin(), at.end(), true));
}

}  // namespace

Repaired repair(const Subnet& before, const Subnet& after, const RoutingEngine& engine,
                const RoutingOptions& options, const Routing& now) {
    Repaired repaired;
    Repairer repairer(before, after, now);
    const bool has_shape = !now.lanes.rule.empty();
    repaired.is_new =
        has_shape || !repairer.repair_tables() || !repairer.repair_lanes(options.max_lanes);
    repaired.routing = repaired.is_new ? engine.route(after, options) : repairer.take();
    count_changes(after, now.tables, repaired);
    return repaired;
}

}  // namespace tulle::control
