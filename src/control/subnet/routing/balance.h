// Spreads LIDs over the ways that an engine allows: one tree of next hops for each LID, each tree
// where the trees before it left most room.
//
// The cost of a way is the load of its links so far, summed up to the home; a load is the number of
// pairs of hosts whose path crosses the link. Loads count what really passes, so a spine spreads
// the LIDs that leaves send through it, and not all LIDs. On a full fat tree this gives what
// d-mod-k gives (Zahavi, "Fat-trees routing and node ordering providing contention free traffic for
// MPI global collectives", 2011). On other fabrics it is the single-source shortest paths of
// Hoefler, Schneider and Lumsdaine ("Optimized routing for large-scale InfiniBand networks", 2009),
// for any set of allowed ways. Equal ways are told apart by the highest switch that they lead over,
// so that all leaves choose the same one and a LID comes down one way.
#pragma once

#include <cstdint>
#include <vector>

#include "control/subnet/routing/ways.h"
#include "control/subnet/tables.h"

namespace tulle::control {

class Balance {
public:
    explicit Balance(const Subnet& subnet);

    // Writes the ports of all switches of `ways`, and of the home, for one LID at the home.
    void choose(uint32_t lid, const Ways& ways, ForwardingTables& tables);
    // Takes back what choose() added to loads for a LID.
    void remove(uint32_t lid, const Ways& ways, const ForwardingTables& tables);
    // All links between two tiers carry the same, or the fabric is a tree.
    bool is_even() const;

private:
    void add_loads(uint32_t lid, const Ways& ways);

    const Subnet& subnet_;
    std::vector<uint32_t> rank_;    // by switch
    std::vector<uint32_t> place_;   // by switch: in the order of planes
    std::vector<uint64_t> load_;    // by link
    std::vector<uint64_t> key_;     // by switch: cost to the home, then the highest switch
    std::vector<uint32_t> chosen_;  // by switch: a link
    std::vector<uint64_t> flow_;    // by switch: hosts whose packets pass
};

// Which paths had to leave the ways of an engine, so that connected switches reach each other.
struct Detours {
    bool joins_hosts = false;  // from a switch with hosts to another one
    bool joins_any = false;    // a path with a host at one end

    void operator|=(const Detours& other) {
        joins_hosts |= other.joins_hosts;
        joins_any |= other.joins_any;
    }
};

// All LIDs of a subnet, home by home in the order given, each by the ways that `engine` finds.
// Switches that it leaves out, though they are connected, join the nearest one that it did not.
// Unless told not to, each LID chooses once more where links are not used evenly, now that it knows
// all others. Trees choose once: what gains a little there is lost in shifts (30 cables of 648 gone
// from a fat tree of 648 hosts: 3.0 flows on the busiest link of a shift, or 3.4 by choosing
// twice).
enum class Passes : uint8_t { one, two };
struct Filled {
    ForwardingTables tables;
    Detours detours{};
    std::vector<uint32_t> detoured;  // LIDs to which such paths lead
};
template <class Engine>
Filled fill(const Subnet& subnet, Engine&& engine, const std::vector<uint32_t>& homes,
            Passes passes = Passes::two);

// The switches by the lowest LID of their hosts, then those without hosts.
std::vector<uint32_t> homes_in_order(const Subnet& subnet);

// ---------------------------------------------------------------------------------------------

// Adds steps for connected switches that have none.
Detours add_detours(const Subnet& subnet, uint32_t home, Ways& ways);

template <class Engine>
Filled fill(const Subnet& subnet, Engine&& engine, const std::vector<uint32_t>& homes,
            Passes passes) {
    Filled filled{ForwardingTables(subnet.switch_count(), subnet.lid_end()), {}, {}};
    Balance balance(subnet);
    Ways ways;
    for (const uint32_t home : homes) {
        engine.find(home, ways);
        const Detours detours = add_detours(subnet, home, ways);
        filled.detours |= detours;
        if (detours.joins_any)
            for (const uint16_t lid : subnet.lids_at(home)) filled.detoured.push_back(lid);
        for (const uint16_t lid : subnet.lids_at(home)) balance.choose(lid, ways, filled.tables);
    }
    if (passes == Passes::one || balance.is_even()) return filled;
    for (const uint32_t home : homes) {
        if (subnet.hosts_at(home) == 0) continue;
        engine.find(home, ways);
        add_detours(subnet, home, ways);
        for (const uint16_t lid : subnet.lids_at(home)) {
            balance.remove(lid, ways, filled.tables);
            balance.choose(lid, ways, filled.tables);
        }
    }
    return filled;
}

}  // namespace tulle::control
