#include "control/subnet/routing/balance.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>
#include <tuple>

#include "base/random.h"
#include "control/subnet/check/spread.h"
#include "control/subnet/routing/tree_order.h"

namespace tulle::control {
namespace {

constexpr unsigned kSwitchBits = 20;  // of a key; LIDs allow at most 49,151 switches
constexpr uint64_t kSwitchMask = (uint64_t{1} << kSwitchBits) - 1;
constexpr uint64_t kStrays = uint64_t{1} << 63;  // in a key: the path comes down elsewhere

}  // namespace

Balance::Balance(const Subnet& subnet)
    : subnet_(subnet),
      rank_(ranks_of(subnet)),
      place_(places_by_plane(subnet)),
      load_(subnet.link_count()),
      key_(subnet.switch_count()),
      chosen_(subnet.switch_count()),
      flow_(subnet.switch_count()),
      lids_down_(subnet.link_count()),
      lids_from_(subnet.switch_count()),
      is_on_way_(subnet.switch_count()),
      taken_(subnet.switch_count()) {}

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

// The switch of the highest tier whose links down to the home carry the fewest LIDs. Ties go to the
// one from which the fewest LIDs come down, then to the first in the order of planes. chosen_ holds
// its way.
uint32_t Balance::find_top(uint32_t home, const Ways& ways) {
    constexpr uint64_t kNoWay = ~uint64_t{0};
    std::ranges::fill(key_, kNoWay);
    key_[home] = 0;
    uint32_t top = home;
    auto least = std::tuple(0u, kNoWay, kNoWay, kNone);  // compares the highest tier first
    for (const Ways::Step& step : ways.steps()) {
        if (rank_[step.from] == 0) continue;  // all its ways go up
        for (const Ways::Way& way : ways.ways(step)) {
            const bool goes_down = rank_[way.to] < rank_[step.from];
            if (!goes_down || key_[way.to] == kNoWay) continue;
            const uint64_t key = key_[way.to] + lids_down_[way.link];
            if (key >= key_[step.from]) continue;
            key_[step.from] = key;
            chosen_[step.from] = way.link;
        }
        if (key_[step.from] == kNoWay) continue;
        const auto cost = std::tuple(~rank_[step.from], key_[step.from], lids_from_[step.from],
                                     place_[step.from]);
        if (top != home && cost >= least) continue;
        least = cost;
        top = step.from;
    }
    return top;
}

void Balance::choose_from_above(uint32_t lid, const Ways& ways, ForwardingTables& tables) {
    const Subnet::Place& place = subnet_.place(lid);
    if (place.port == kSwitchItself) return choose(lid, ways, tables);
    const uint32_t top = find_top(place.home, ways);
    is_on_way_.assign(is_on_way_.size(), false);
    for (uint32_t s = top; s != place.home; s = subnet_.link(chosen_[s]).to) {
        is_on_way_[s] = true;
        ++lids_down_[chosen_[s]];
    }
    ++lids_from_[top];
    const auto row = tables.row(lid);
    row[place.home] = place.port;
    key_[place.home] = 0;
    for (const Ways::Step& step : ways.steps()) {
        uint64_t best = ~uint64_t{0};
        Ways::Way taken{};
        const bool is_on_way = is_on_way_[step.from];
        for (const Ways::Way& way : ways.ways(step)) {
            // The way down has one link, even if several join two switches.
            const bool strays_here =
                is_on_way ? chosen_[step.from] != way.link : rank_[way.to] < rank_[step.from];
            const uint64_t strays = strays_here ? kStrays : 0;
            const uint64_t cost = (key_[way.to] + load_[way.link]) | strays;
            if (cost >= best) continue;
            best = cost;
            taken = way;
        }
        key_[step.from] = best;
        taken_[step.from] = taken.link;
        row[step.from] = subnet_.link(taken.link).port;
    }
    chosen_.swap(taken_);
    add_loads(lid, ways);
}

bool Balance::is_tree() const {
    for (uint32_t id = 0; id < subnet_.link_count(); ++id)
        if (rank_[subnet_.link(id).from] == rank_[subnet_.link(id).to]) return false;
    return true;
}

uint32_t orders_to_try(const Subnet& subnet) {
    constexpr uint64_t kMost = 64;
    constexpr uint64_t kBudget = 4'000'000;  // steps of tables and paths
    const uint64_t switches = subnet.switch_count();
    uint64_t hosts = 0;
    for (uint32_t s = 0; s < switches; ++s) hosts += subnet.hosts_at(s);
    const uint64_t steps = (switches + hosts) * switches + hosts * hosts;
    return static_cast<uint32_t>(std::min(kMost, kBudget / std::max<uint64_t>(steps, 1)));
}

std::vector<uint32_t> shuffled_homes(std::vector<uint32_t> homes, uint32_t number) {
    base::RandomStream random({.seed = number, .kind = 18, .index = 0});
    random.shuffle(std::span(homes));
    return homes;
}

uint64_t conflicts_of_shifts(const Subnet& subnet, const ForwardingTables& tables) {
    constexpr uint32_t kShifts = 64;  // a sample; all shifts if there are no more hosts
    return measure_shifts(subnet, tables, kShifts).sum_of_most;
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

void Balance::remove(uint32_t lid, const Ways& ways, const ForwardingTables& tables) {
    if (!subnet_.is_host(lid)) return;
    const auto row = tables.row(lid);
    for (const Ways::Step& step : ways.steps()) {
        chosen_[step.from] = subnet_.link_at(step.from, row[step.from]);
        flow_[step.from] = subnet_.hosts_at(step.from);
    }
    flow_[subnet_.place(lid).home] = 0;
    const auto steps = ways.steps();
    for (size_t i = steps.size(); i-- > 0;) {
        const uint32_t from = steps[i].from;
        load_[chosen_[from]] -= flow_[from];
        flow_[subnet_.link(chosen_[from]).to] += flow_[from];
    }
}

bool Balance::is_even() const {
    std::map<std::pair<uint32_t, uint32_t>, std::pair<uint64_t, uint64_t>> range;  // by ranks
    for (uint32_t id = 0; id < subnet_.link_count(); ++id) {
        const Subnet::Link& link = subnet_.link(id);
        const auto [found, is_new] =
            range.try_emplace({rank_[link.from], rank_[link.to]}, load_[id], load_[id]);
        auto& [least, most] = found->second;
        least = std::min(least, load_[id]);
        most = std::max(most, load_[id]);
    }
    return std::all_of(range.begin(), range.end(),
                       [](const auto& entry) { return entry.second.first == entry.second.second; });
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

// Works in rounds: a switch joins if a neighbour joined in an earlier round. Only the remaining
// switches are examined, so this costs little if few remain.
Detours add_detours(const Subnet& subnet, uint32_t home, Ways& ways) {
    Detours found;
    if (ways.steps().size() + 1 == subnet.switch_count()) return found;
    std::vector<uint32_t> round(subnet.switch_count(), kFar);
    round[home] = 0;
    for (const Ways::Step& step : ways.steps()) round[step.from] = 0;
    std::vector<uint32_t> left;
    for (uint32_t s = 0; s < subnet.switch_count(); ++s)
        if (round[s] == kFar) left.push_back(s);
    size_t before = left.size() + 1;
    for (uint32_t now = 1; left.size() < before; ++now) {
        before = left.size();
        std::erase_if(left, [&](uint32_t s) {
            const auto links = subnet.links_of(s);
            const bool joins = std::any_of(links.begin(), links.end(),
                                           [&](const auto& link) { return round[link.to] < now; });
            if (!joins) return false;
            round[s] = now;
            found.joins_hosts |= subnet.hosts_at(home) > 0 && subnet.hosts_at(s) > 0;
            found.joins_any |= subnet.hosts_at(home) > 0 || subnet.hosts_at(s) > 0;
            ways.begin(s);
            for (uint32_t id = subnet.first_link(s); id < subnet.end_link(s); ++id)
                if (round[subnet.link(id).to] < now) ways.add(id, subnet.link(id).to);
            return true;
        });
    }
    return found;
}

}  // namespace tulle::control
