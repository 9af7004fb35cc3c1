// Spreads LIDs over the ways that an engine allows. Each LID gets one tree of next hops, placed
// where the earlier trees left the most room.
//
// The cost of a way is the sum of the loads of its links, up to the home. A load is the number of
// pairs of hosts whose path crosses the link. Loads count actual paths, so a spine spreads the LIDs
// that leaves send through it, and not all LIDs. On a full fat tree the result equals d-mod-k
// (Zahavi, "Fat-trees routing and node ordering providing contention free traffic for MPI global
// collectives", 2011). On other fabrics it is the single-source shortest paths of Hoefler,
// Schneider and Lumsdaine ("Optimized routing for large-scale InfiniBand networks", 2009), for any
// set of allowed ways. Ties are broken by the highest switch on the way, so that all leaves choose
// the same one and a LID comes down one way.
//
// A tree that lost cables is not even. A leaf that lost one soon chooses differently from the
// others, and flows of a shift collide. So a second set of tables gives each LID one switch to come
// down from, which all leaves use that can; the better set is taken (30 cables of 648 gone from a
// fat tree of 648 hosts: 2.8 flows on the busiest link of a shift, 3.0 by loads alone, 3.4 by
// choosing twice).
#pragma once

#include <cstdint>
#include <vector>

#include "control/subnet/routing/ways.h"
#include "control/subnet/tables.h"

namespace tulle::control {

class Balance {
public:
    explicit Balance(const Subnet& subnet);

    // Writes the ports for one LID at all switches of `ways` and at the home.
    void choose(uint32_t lid, const Ways& ways, ForwardingTables& tables);
    // The same for a tree: all paths come down from one switch, if they can.
    void choose_from_above(uint32_t lid, const Ways& ways, ForwardingTables& tables);
    // Subtracts the loads that choose() added for a LID.
    void remove(uint32_t lid, const Ways& ways, const ForwardingTables& tables);
    // Whether all links between any two tiers have equal loads.
    bool is_even() const;
    bool is_tree() const;  // no link joins two switches of one tier

private:
    void add_loads(uint32_t lid, const Ways& ways);
    uint32_t find_top(uint32_t home, const Ways& ways);

    const Subnet& subnet_;
    std::vector<uint32_t> rank_;    // by switch
    std::vector<uint32_t> place_;   // by switch: in the order of planes
    std::vector<uint64_t> load_;    // by link
    std::vector<uint64_t> key_;     // by switch: cost to the home, then the highest switch
    std::vector<uint32_t> chosen_;  // by switch: a link
    std::vector<uint64_t> flow_;    // by switch: number of hosts whose packets pass
    // For LIDs that come down from one switch.
    std::vector<uint64_t> lids_down_;  // by link: number of LIDs that come down it
    std::vector<uint64_t> lids_from_;  // by switch: number of LIDs that come down from it
    std::vector<bool> is_on_way_;      // by switch: it is on the LID's way down
    std::vector<uint32_t> taken_;      // by switch: a link
};

// Which paths leave the ways of an engine, so that connected switches reach each other.
struct Detours {
    bool joins_hosts = false;  // from a switch with hosts to another one
    bool joins_any = false;    // a path with a host at one end

    void operator|=(const Detours& other) {
        joins_hosts |= other.joins_hosts;
        joins_any |= other.joins_any;
    }
};

// Fills the tables for all LIDs of a subnet, home by home in the given order, by the ways that
// `engine` finds. Connected switches that it leaves out join the nearest switch that has a way. If
// links are not used evenly, each LID then chooses again, now that all others are known: once in a
// tree, several times elsewhere. `Passes::one` prevents this. Of all these tables, those with the
// fewest collisions of shifts are taken. On small fabrics other orders of homes are tried besides.
enum class Passes : uint8_t { one, several };
inline constexpr int kMostPasses = 5;  // chosen: on tori, more passes gain nothing
struct Filled {
    ForwardingTables tables;
    Detours detours{};
    std::vector<uint32_t> detoured;  // LIDs with such paths
};
template <class Engine>
Filled fill(const Subnet& subnet, Engine&& engine, const std::vector<uint32_t>& homes,
            Passes passes = Passes::several);

// The switches in the order of the lowest LID of their hosts, then those without hosts.
std::vector<uint32_t> homes_in_order(const Subnet& subnet);

// ---------------------------------------------------------------------------------------------

// Adds steps for connected switches that have no way.
Detours add_detours(const Subnet& subnet, uint32_t home, Ways& ways);

// Visits the LIDs of one path at a home. Each path begins with another host, so that the LIDs of
// one host are spread over links like the hosts of a switch.
template <class Visit>
void for_each_lid(const Subnet& subnet, uint32_t home, uint8_t path, Visit&& visit) {
    const auto lids = subnet.lids_at(home);
    if (subnet.paths() == 1) {
        for (const uint16_t lid : lids) visit(lid);
        return;
    }
    std::vector<uint16_t> hosts;
    for (const uint16_t lid : lids)
        if (subnet.place(lid).path == path) {
            if (subnet.is_host(lid))
                hosts.push_back(lid);
            else
                visit(lid);
        }
    for (size_t i = 0; i < hosts.size(); ++i) visit(hosts[(i + path) % hosts.size()]);
}

// How many other orders to try: fewer on larger fabrics, so that they take some milliseconds.
uint32_t orders_to_try(const Subnet& subnet);

// The ways of an engine. Where they are asked for in several orders, each home's are kept.
template <class Engine>
class WaysToHomes {
public:
    WaysToHomes(const Subnet& subnet, Engine& engine)
        : subnet_(subnet),
          engine_(engine),
          keeps_(orders_to_try(subnet) > 0),
          found_(keeps_ ? subnet.switch_count() : 1) {}

    // Visits all LIDs, each with the ways to its home.
    template <class Visit>
    void for_each_lid(const std::vector<uint32_t>& homes, Visit&& visit) {
        for (uint8_t path = 0; path < subnet_.paths(); ++path)
            for (const uint32_t home : homes) {
                const Found& found = find(home);
                control::for_each_lid(subnet_, home, path,
                                      [&](uint16_t lid) { visit(lid, found.ways, found.detours); });
            }
    }

private:
    struct Found {
        uint32_t home = kNone;
        Ways ways;
        Detours detours{};
    };
    const Found& find(uint32_t home) {
        Found& found = found_[keeps_ ? home : 0];
        if (found.home == home) return found;
        found.home = home;
        engine_.find(home, found.ways);
        found.detours = add_detours(subnet_, home, found.ways);
        return found;
    }

    const Subnet& subnet_;
    Engine& engine_;
    bool keeps_;
    std::vector<Found> found_;
};
// The homes in another order for each `number`.
std::vector<uint32_t> shuffled_homes(std::vector<uint32_t> homes, uint32_t number);

// How much flows of shifts collide, to compare tables of one subnet.
uint64_t conflicts_of_shifts(const Subnet& subnet, const ForwardingTables& tables);

template <class Engine>
Filled fill(const Subnet& subnet, Engine&& engine, const std::vector<uint32_t>& homes,
            Passes passes) {
    Filled filled{ForwardingTables(subnet.switch_count(), subnet.lid_end()), {}, {}};
    Balance balance(subnet);
    WaysToHomes ways_to_homes(subnet, engine);
    ways_to_homes.for_each_lid(homes, [&](uint16_t lid, const Ways& ways, const Detours& detours) {
        filled.detours |= detours;
        if (detours.joins_any) filled.detoured.push_back(lid);
        balance.choose(lid, ways, filled.tables);
    });
    if (passes == Passes::one || balance.is_even()) return filled;
    ForwardingTables tables = filled.tables;
    uint64_t least = conflicts_of_shifts(subnet, filled.tables);
    const auto keep_if_better = [&](const ForwardingTables& other, bool if_as_good = false) {
        const uint64_t conflicts = conflicts_of_shifts(subnet, other);
        if (conflicts > least || (conflicts == least && !if_as_good)) return;
        least = conflicts;
        filled.tables = other;
    };
    const bool is_tree = balance.is_tree();
    for (int pass = 0; pass < (is_tree ? 1 : kMostPasses); ++pass) {
        ways_to_homes.for_each_lid(homes, [&](uint16_t lid, const Ways& ways, const Detours&) {
            if (subnet.hosts_at(subnet.place(lid).home) == 0) return;
            balance.remove(lid, ways, tables);
            balance.choose(lid, ways, tables);
        });
        if (!is_tree) keep_if_better(tables, true);
    }
    ForwardingTables other = filled.tables;
    const auto try_anew = [&](const std::vector<uint32_t>& order, bool from_above) {
        Balance loads(subnet);
        ways_to_homes.for_each_lid(order, [&](uint16_t lid, const Ways& ways, const Detours&) {
            if (from_above)
                loads.choose_from_above(lid, ways, other);
            else
                loads.choose(lid, ways, other);
        });
        keep_if_better(other);
    };
    if (is_tree) {
        try_anew(homes, true);
        keep_if_better(tables);
    }
    for (uint32_t i = 1; i <= orders_to_try(subnet); ++i) {
        const std::vector<uint32_t> order = shuffled_homes(homes, i);
        try_anew(order, false);
        if (is_tree) try_anew(order, true);
    }
    return filled;
}

}  // namespace tulle::control
