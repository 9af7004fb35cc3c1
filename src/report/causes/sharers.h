// The messages that pass a port.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "report/causes.h"

namespace tulle::report::causes {

using fabric::Place;

using Pair = std::pair<uint32_t, uint32_t>;  // sending and receiving endpoint

struct Sharers {
    size_t sources = 0;  // hosts
    size_t own_pairs = 0;
    size_t other_pairs = 0;  // of the largest other piece of work
    uint32_t other = 0;

    bool is_of_others() const { return other_pairs != 0 && own_pairs <= other_pairs; }
};

class Crossings {
public:
    // The facts must outlive it.
    explicit Crossings(const Facts& facts);

    // The senders through a port; endpoints in no flow or rank are ignored.
    std::vector<Pair> pairs_at(Place place) const;
    // Those whose data it is, without those whose answers come by.
    std::vector<Pair> data_pairs_at(Place place) const;
    Sharers sharers_at(Place place) const;
    // The number of flows through a port; for a program, of pairs of ranks.
    size_t messages_at(Place place) const;
    bool crosses_chain(Place place) const;
    bool is_crossed(Place place) const { return crossings_.contains(place); }
    // Whether a switch passes on packets from one endpoint to the other.
    bool passes(uint32_t node, const Pair& pair) const;
    // Whether any of them goes through a port.
    bool crosses_any(Place place, const std::vector<Pair>& pairs) const;
    // Whether messages of the chain, or their answers, go from one endpoint to the other.
    bool is_of_chain(const Pair& pair) const;
    // Endpoints that send or receive messages of the chain between servers.
    std::set<uint32_t> hosts_of_chain() const;
    std::string work_name(uint32_t work) const;

private:
    void build_work() const;
    void build_chain() const;
    uint32_t own_work() const;

    const Facts& facts_;
    std::map<Place, std::set<Pair>> crossings_;
    // The pieces of work whose data goes from one endpoint to the other: groups of flows, then jobs
    // of the program.
    mutable std::map<Pair, std::set<uint32_t>> data_;
    mutable std::set<Pair> chain_;  // both ways
};

}  // namespace tulle::report::causes
