#include "control/subnet/routing/balance.h"

#include <algorithm>
#include <numeric>

#include "control/subnet/routing/tree_order.h"

namespace tulle::control {
namespace {

constexpr unsigned kSwitchBits = 20;  // of a key; LIDs leave no more than 49,151 switches
constexpr uint64_t kSwitchMask = (uint64_t{1} << kSwitchBits) - 1;

}  // namespace

Balance::Balance(const Subnet& subnet)
    : subnet_(subnet),
      rank_(ranks_of(subnet)),
      place_(places_by_plane(subnet)),
      load_(subnet.link_count()),
      key_(subnet.switch_count()),
      chosen_(subnet.switch_count()),
      flow_(subnet.switch_count()) {}

void Balance::choose(uint32_t lid, const Ways& ways, ForwardingTables& tables) {
    const Subnet::Place& place = subnet_.place(lid);
    const auto row = tables.row(lid);
    row[place.home] = place.port;
    key_[place.home] = place_[place.home];
    for (const Ways::Step& step : ways.steps()) {
        uint64_t best = ~uint64_t{0};
        Ways::Way taken{};
        for (const Ways::Way& way : ways.ways(step)) {
            const uint64_t key = key_[way.to] + (load_[way.link] << kSwitchBits);
            if (key >= best) continue;
            best = key;
            taken = way;
        }
        chosen_[step.from] = taken.link;
        row[step.from] = subnet_.link(taken.link).port;
        const bool goes_up = rank_[taken.to] > rank_[step.from];
        key_[step.from] = goes_up ? best : (best & ~kSwitchMask) | place_[step.from];
    }
    if (place.port != kSwitchItself) add_loads(lid, ways);
}

void Balance::add_loads(uint32_t lid, const Ways& ways) {
    for (const Ways::Step& step : ways.steps()) flow_[step.from] = subnet_.hosts_at(step.from);
    flow_[subnet_.place(lid).home] = 0;
    const auto steps = ways.steps();
    for (size_t i = steps.size(); i-- > 0;) {
        const uint32_t from = steps[i].from;
        if (flow_[from] == 0) continue;
        load_[chosen_[from]] += flow_[from];
        flow_[subnet_.link(chosen_[from]).to] += flow_[from];
    }
}

std::vector<uint32_t> homes_in_order(const Subnet& subnet) {
    std::vector<uint32_t> homes(subnet.switch_count());
    std::iota(homes.begin(), homes.end(), 0);
    const auto first_host = [&](uint32_t s) {
        for (const uint16_t lid : subnet.lids_at(s))
            if (subnet.is_host(lid)) return uint32_t{lid};
        return kFar;
    };
    std::vector<uint32_t> key;
    for (const uint32_t s : homes) key.push_back(first_host(s));
    std::stable_sort(homes.begin(), homes.end(),
                     [&](uint32_t a, uint32_t b) { return key[a] < key[b]; });
    return homes;
}

Detours add_detours(const Subnet& subnet, uint32_t home, Ways& ways) {
    if (ways.steps().size() + 1 == subnet.switch_count()) return {};
    std::vector<uint32_t> distance(subnet.switch_count(), kFar);
    std::vector<uint32_t> queue{home};
    distance[home] = 0;
    for (const Ways::Step& step : ways.steps()) {
        distance[step.from] = 0;
        queue.push_back(step.from);
    }
    Detours found;
    for (size_t i = 0; i < queue.size(); ++i) {
        const uint32_t s = queue[i];
        for (const Subnet::Link& link : subnet.links_of(s))
            if (distance[link.to] == kFar) {
                distance[link.to] = distance[s] + 1;
                queue.push_back(link.to);
            }
        if (distance[s] == 0) continue;
        found.joins_hosts |= subnet.hosts_at(home) > 0 && subnet.hosts_at(s) > 0;
        found.joins_any |= subnet.hosts_at(home) > 0 || subnet.hosts_at(s) > 0;
        ways.begin(s);
        for (uint32_t id = subnet.first_link(s); id < subnet.end_link(s); ++id) {
            const uint32_t to = subnet.link(id).to;
            if (distance[to] != kFar && distance[to] + 1 == distance[s]) ways.add(id, to);
        }
    }
    return found;
}

}  // namespace tulle::control
