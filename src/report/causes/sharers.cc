// Whose messages go through a port.
#include <fmt/format.h>

#include <algorithm>

#include "report/causes/investigation.h"

namespace tulle::report::causes {
namespace {

using workload::Tier;

}  // namespace

bool Investigation::is_of_own_work(Place place, topology::CableEnd end) const {
    const sim::LinkResult* link = facts_.link_at(end.node, end.port);
    const Sharers sharers = sharers_at(place);
    return link != nullptr && facts_.is_host(link->peer_node) && !sharers.is_of_others();
}

bool Investigation::crosses_chain(Place place) const {
    const std::vector<Pair> pairs = pairs_at(place);
    return std::any_of(pairs.begin(), pairs.end(),
                       [&](const Pair& pair) { return is_of_chain(pair); });
}

size_t Investigation::messages_at(Place place) const {
    size_t count = 0;
    for (const Pair& pair : pairs_at(place)) {
        const auto flows = std::count_if(facts_.setup.flows.begin(), facts_.setup.flows.end(),
                                         [&](const sim::Flow& flow) {
                                             return pair == Pair{flow.source, flow.destination} ||
                                                    pair == Pair{flow.destination, flow.source};
                                         });
        count += static_cast<size_t>(std::max<std::ptrdiff_t>(1, flows));
    }
    return count;
}

std::vector<Pair> Investigation::pairs_at(Place place) const {
    const auto found = crossings_.find(place);
    if (found == crossings_.end()) return {};
    return {found->second.begin(), found->second.end()};
}

std::set<uint32_t> Investigation::work_of(const Pair& pair) const {
    build_work();
    const auto found = work_.find(pair);
    return found == work_.end() ? std::set<uint32_t>{} : found->second;
}

void Investigation::build_work() const {
    if (!work_.empty()) return;
    for (const sim::Flow& flow : facts_.setup.flows) {
        work_[{flow.source, flow.destination}].insert(flow.group);
        work_[{flow.destination, flow.source}].insert(flow.group);
    }
    const auto first = static_cast<uint32_t>(facts_.setup.groups.size());
    workload::visit_traffic(facts_.setup.program, [&](const workload::Traffic& traffic) {
        if (traffic.tier == Tier::scale_up) return;
        const uint32_t from = facts_.setup.ranks[traffic.rank].endpoint;
        const uint32_t to = facts_.setup.ranks[traffic.peer].endpoint;
        const uint32_t job = facts_.setup.program.phases[traffic.phase].job;
        work_[{from, to}].insert(first + job);
        work_[{to, from}].insert(first + job);
    });
}

std::string Investigation::work_name(uint32_t work) const {
    const auto& groups = facts_.setup.groups;
    if (work < groups.size())
        return groups[work].empty() ? fmt::format("work {}", work + 1) : groups[work];
    const auto& jobs = facts_.setup.program.jobs;
    const size_t job = work - groups.size();
    return job < jobs.size() && !jobs[job].name.empty() ? jobs[job].name
                                                        : fmt::format("job {}", job + 1);
}

bool Investigation::is_of_chain(const Pair& pair) const {
    return std::any_of(
        account_.chain.begin(), account_.chain.end(), [&](const sim::ChainLink& link) {
            if (!link.is_task) {
                const sim::Flow& flow = facts_.setup.flows[link.id];
                return pair == Pair{flow.source, flow.destination} ||
                       pair == Pair{flow.destination, flow.source};
            }
            const workload::Task& task = facts_.setup.program[link.id];
            if (task.kind == workload::Task::Kind::compute || task.tier == Tier::scale_up)
                return false;
            const uint32_t from = facts_.setup.ranks[task.rank].endpoint;
            const uint32_t to = facts_.setup.ranks[task.peer].endpoint;
            return pair == Pair{from, to} || pair == Pair{to, from};
        });
}

uint32_t Investigation::own_work() const {
    const sim::ChainLink& last = account_.chain.back();
    if (!last.is_task) return facts_.setup.flows[last.id].group;
    const uint32_t phase = facts_.setup.program[last.id].phase;
    return static_cast<uint32_t>(facts_.setup.groups.size()) +
           facts_.setup.program.phases[phase].job;
}

Sharers Investigation::sharers_at(Place place) const {
    Sharers sharers;
    std::set<uint32_t> sources;
    std::map<uint32_t, size_t> others;
    for (const Pair& pair : pairs_at(place)) {
        sources.insert(pair.first);
        const std::set<uint32_t> works = work_of(pair);
        if (works.contains(own_work()))
            ++sharers.own_pairs;
        else
            for (const uint32_t work : works) ++others[work];
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
