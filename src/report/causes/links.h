// Links as a run found them: how busy they were, and which ones could have taken their place.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "report/causes/sharers.h"

namespace tulle::report::causes {

class Links {
public:
    // Both must outlive it.
    Links(const Facts& facts, const Crossings& crossings) : facts_(facts), crossings_(crossings) {}

    std::string name(topology::CableEnd end) const;
    // How busy a link was during the chain.
    uint64_t busy_permille(topology::CableEnd end) const;
    // How long the work keeps a host's link busy.
    Duration busy_time(topology::CableEnd end) const;
    Place place_at(topology::CableEnd end) const;
    // Alternative links for some messages, or for those of the chain among them: on paths of equal
    // length, at the same distance from the destination.
    std::set<Place> equals_of(topology::CableEnd end, const std::vector<Pair>& pairs,
                              bool of_chain) const;
    // The link to the only host that all of this traffic goes to, if it is no faster.
    std::optional<Place> only_receiver(Place place, const std::vector<Pair>& pairs) const;
    // The link to the only host that the chain's messages over a link go to.
    std::optional<Place> receiver_of_chain(const std::vector<Pair>& pairs) const;

private:
    // The link to a host that has only one.
    std::optional<Place> link_to(uint32_t host) const;
    // Hops from each node to a host.
    std::vector<uint32_t> hops_to(uint32_t host) const;
    std::set<Place> equals_of(topology::CableEnd end, const Pair& pair) const;

    const Facts& facts_;
    const Crossings& crossings_;
};

}  // namespace tulle::report::causes
