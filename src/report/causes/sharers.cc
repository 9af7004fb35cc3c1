#include "report/causes/sharers.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/rank_trails.h"

namespace tulle::report::causes {
namespace {

using workload::Tier;

}  // namespace

Crossings::Crossings(const Facts& facts) : facts_(facts) {
    for (const fabric::CrossingRecord& crossing : facts.result.account.crossings)
        crossings_[crossing.place].insert({crossing.source, crossing.destination});
}

bool Crossings::crosses_any(Place place, const std::vector<Pair>& pairs) const {
    const auto found = crossings_.find(place);
    return found != crossings_.end() && std::ranges::any_of(pairs, [&](const Pair& pair) {
               return found->second.contains(pair);
           });
}

bool Crossings::passes(uint32_t node, const Pair& pair) const {
    for (const auto& link : facts_.names.ports().of(node)) {
        if (!link.is_cabled()) continue;
        const bool is_a = facts_.setup.graph.cables[link.cable].a.node == node;
        if (crosses_any(fabric::place_of(link.cable, is_a), {pair})) return true;
    }
    return false;
}

bool Crossings::crosses_chain(Place place) const {
    const std::vector<Pair> pairs = pairs_at(place);
    return std::any_of(pairs.begin(), pairs.end(),
                       [&](const Pair& pair) { return is_of_chain(pair); });
}

size_t Crossings::messages_at(Place place) const {
    size_t count = 0;
    for (const Pair& pair : data_pairs_at(place)) {
        const auto flows = std::count_if(facts_.setup.flows.begin(), facts_.setup.flows.end(),
                                         [&](const sim::Flow& flow) {
                                             return pair == Pair{flow.source, flow.destination} ||
                                                    pair == Pair{flow.destination, flow.source};
                                         });
        count += static_cast<size_t>(std::max<std::ptrdiff_t>(1, flows));
    }
    return count;
}

std::vector<Pair> Crossings::pairs_at(Place place) const {
    const auto found = crossings_.find(place);
    if (found == crossings_.end()) return {};
    return {found->second.begin(), found->second.end()};
}

std::vector<Pair> Crossings::data_pairs_at(Place place) const {
    build_work();
    std::vector<Pair> pairs = pairs_at(place);
    std::erase_if(pairs, [&](const Pair& pair) { return !data_.contains(pair); });
    return pairs;
}

void Crossings::build_work() const {
    if (!data_.empty()) return;
    const auto note = [&](Pair pair, bool is_read, uint32_t work) {
        if (is_read) std::swap(pair.first, pair.second);
        data_[pair].insert(work);
    };
    for (const sim::Flow& flow : facts_.setup.flows)
        note({flow.source, flow.destination}, flow.operation == sim::Verb::read, flow.group);
    const auto first = static_cast<uint32_t>(facts_.setup.groups.size());
    workload::visit_traffic(facts_.setup.program, [&](const workload::Traffic& traffic) {
        if (traffic.tier == Tier::scale_up) return;
        const uint32_t from = facts_.setup.ranks[traffic.rank].endpoint;
        const uint32_t to = facts_.setup.ranks[traffic.peer].endpoint;
        const uint32_t job = facts_.setup.program.phases[traffic.phase].job;
        note({from, to}, traffic.kind == workload::Task::Kind::read, first + job);
    });
}

std::string Crossings::work_name(uint32_t work) const {
    const auto& groups = facts_.setup.groups;
    if (work < groups.size())
        return groups[work].empty() ? fmt::format("work {}", work + 1) : groups[work];
    const auto& jobs = facts_.setup.program.jobs;
    const size_t job = work - groups.size();
    return job < jobs.size() && !jobs[job].name.empty() ? jobs[job].name
                                                        : fmt::format("job {}", job + 1);
}

bool Crossings::is_of_chain(const Pair& pair) const {
    build_chain();
    return chain_.contains(pair);
}

std::set<uint32_t> Crossings::hosts_of_chain() const {
    build_chain();
    std::set<uint32_t> hosts;
    for (const Pair& pair : chain_) hosts.insert(pair.first);
    return hosts;
}

void Crossings::build_chain() const {
    if (!chain_.empty()) return;
    for (const sim::ChainLink& link : facts_.result.account.chain) {
        uint32_t from = 0;
        uint32_t to = 0;
        if (link.is_task) {
            const workload::Task task = sim::task_of(facts_.setup.program, link);
            if (task.kind == workload::Task::Kind::compute || task.tier == Tier::scale_up) continue;
            from = facts_.setup.ranks[task.rank].endpoint;
            to = facts_.setup.ranks[task.peer].endpoint;
        } else {
            from = facts_.setup.flows[link.id].source;
            to = facts_.setup.flows[link.id].destination;
        }
        chain_.insert({from, to});
        chain_.insert({to, from});
    }
}

uint32_t Crossings::own_work() const {
    const sim::ChainLink& last = facts_.result.account.chain.back();
    if (!last.is_task) return facts_.setup.flows[last.id].group;
    const uint32_t phase = sim::task_of(facts_.setup.program, last).phase;
    return static_cast<uint32_t>(facts_.setup.groups.size()) +
           facts_.setup.program.phases[phase].job;
}

Sharers Crossings::sharers_at(Place place) const {
    Sharers sharers;
    std::set<uint32_t> sources;
    std::map<uint32_t, size_t> others;
    for (const Pair& pair : data_pairs_at(place)) {
        sources.insert(pair.first);
        for (const uint32_t work : data_[pair])
            ++(work == own_work() ? sharers.own_pairs : others[work]);
    }
    sharers.sources = sources.size();
    for (const auto& [work, pairs] : others)
        if (pairs > sharers.other_pairs) {
            sharers.other_pairs = pairs;
            sharers.other = work;
        }
    return sharers;
}

}  // namespace tulle::report::causes
