#include "sim/simulation.h"

#include <algorithm>

#include "base/units.h"
#include "sim/accountant.h"
#include "sim/run_hash.h"
#include "workload/schedule.h"

namespace tulle::sim {
namespace {

using base::Error;
using workload::Task;
using workload::Tier;

// READ responses must be numbered and requested again if lost: only a reliable connection can.
Error reads_unreliably(const Setup& network) {
    return Error{"there are reads, which the unreliable connections of " + network.fabric_name +
                 " cannot do: write hosts.service: reliable, or choose another profile"};
}

Error shares_adapter(uint32_t rank, uint32_t peer) {
    return Error{"ranks " + std::to_string(rank) + " and " + std::to_string(peer) +
                 " share an adapter and send to each other: give their server a scale_up "
                 "network, or each of them an adapter"};
}

// Neighbours in a server exchange messages in any schedule.
std::optional<Error> check_generated(const Setup& setup, const workload::Placement& placement) {
    for (uint32_t member = 0; member < placement.size(); ++member) {
        const RankPlace& place = setup.ranks[placement[member].rank];
        if (placement.has_scale_up() && (!setup.scale_up || place.scale_up == topology::kNone))
            return Error{"a message goes inside a server that has no network of its own"};
        if (member == 0 || placement.tier(member - 1, member) == Tier::scale_up) continue;
        const uint32_t before = placement[member - 1].rank;
        if (setup.ranks[before].endpoint == place.endpoint)
            return shares_adapter(before, placement[member].rank);
    }
    return std::nullopt;
}

std::optional<Error> check_sums_between(const Setup& setup, const Task& task) {
    if (!setup.fabric.node.reduction)
        return Error{"a collective adds up in the switches between servers, which " +
                     setup.fabric_name + " does not: choose another algorithm, or a fabric with " +
                     "switch.reduction, such as ib-ndr-sharp"};
    if (setup.fabric.flow_control == fabric::FlowControl::none)
        return Error{"a collective adds up in the switches between servers, which may lose its " +
                     std::string("packets: take a flow_control other than none")};
    if (!setup.tenants.empty())
        return Error{
            "a collective adds up in the switches between servers, which belong to all "
            "tenants: remove the tenants, or choose another algorithm"};
    const uint32_t job = setup.program.phases[task.phase].job;
    const auto is_its = [&](const SwitchTree& tree) {
        return tree.job == job && tree.channel == task.channel && tree.first_rank == task.peer;
    };
    if (std::ranges::none_of(setup.trees, is_its))
        return Error{"a collective adds up in the switches between servers, but it has no tree"};
    return std::nullopt;
}

std::optional<Error> check_ranks(const Setup& setup) {
    const size_t hosts = setup.graph.host_count();
    const size_t ports = setup.scale_up ? setup.scale_up->graph.host_count() : 0;
    for (const RankPlace& place : setup.ranks)
        if (place.endpoint >= hosts ||
            (place.scale_up != topology::kNone && place.scale_up >= ports))
            return Error{"a rank is at a host that is not there"};
    if (auto error = setup.program.check(static_cast<uint32_t>(setup.ranks.size()))) return error;
    for (const Task& task : setup.program.tasks()) {
        if (task.kind == Task::Kind::compute) continue;
        const bool is_up = task.tier == Tier::scale_up;
        const RankPlace& from = setup.ranks[task.rank];
        const RankPlace& to =
            setup.ranks[task.kind == Task::Kind::multicast ? task.rank : task.peer];
        const bool is_through_switch =
            task.kind == Task::Kind::contribute || task.kind == Task::Kind::multicast;
        if (task.kind == Task::Kind::sum_for_all)
            if (auto error = check_sums_between(setup, task)) return error;
        if (is_through_switch && !(is_up && setup.scale_up->fabric.node.reduction))
            return Error{"a collective adds up in the switches inside servers, which " +
                         (setup.scale_up ? setup.scale_up->fabric_name : "there are none of") +
                         " does not: choose another algorithm or another scale_up network"};
        const Setup& network = is_up ? *setup.scale_up : setup;
        if (is_through_switch && network.host.service == Service::datagram)
            return Error{
                "a collective adds up in switches, which send to queue pairs that are "
                "connected: write hosts.service: reliable"};
        if (task.kind == Task::Kind::read && network.host.service == Service::unreliable)
            return reads_unreliably(network);
        if (is_up && (from.scale_up == topology::kNone || to.scale_up == topology::kNone))
            return Error{"a message goes inside a server that has no network of its own"};
        if (!is_up && task.rank != task.peer && from.endpoint == to.endpoint)
            return shares_adapter(task.rank, task.peer);
    }
    for (const workload::GeneratedPhase& phase : setup.program.generated)
        if (auto error = check_generated(setup, *phase.placement)) return error;
    return std::nullopt;
}

// The length of a window: no cable and no rank is faster.
base::Result<Duration> window_of(const Setup& setup) {
    Duration window = shortest_cable(setup);
    if (setup.scale_up) window = std::min(window, shortest_cable(*setup.scale_up));
    if (setup.program.empty()) return window;
    Duration software = window;
    for (const Setup* network : {&setup, setup.scale_up.get()}) {
        if (network == nullptr) continue;
        constexpr Duration kLeast{1'000};
        if (network->host.reaction < kLeast)
            return Error{"ranks of " + network->fabric_name +
                         " react to what arrives in no time: write hosts.reaction: 500ns, or what "
                         "a step takes"};
        software = std::min(software, network->host.reaction);
    }
    for (const Task& task : setup.program.tasks())
        if (task.kind != Task::Kind::compute && task.duration.ps > 0)
            software = std::min(software, task.duration);
    for (const workload::GeneratedPhase& phase : setup.program.generated)
        if (phase.schedule && phase.schedule->least_software().ps > 0)
            software = std::min(software, phase.schedule->least_software());
    uint32_t permille = 1000;
    for (const RankPlace& rank : setup.ranks) permille = std::min(permille, rank.reaction_permille);
    return std::min(window, software * permille / 1000);
}

}  // namespace

base::Result<std::unique_ptr<Simulation>> Simulation::build(const Setup& setup, size_t partitions,
                                                            std::pmr::memory_resource* memory,
                                                            FirstRun first) {
    if (auto error = setup.graph.check()) return *error;
    if (setup.scale_up)
        if (auto error = setup.scale_up->graph.check()) return *error;
    if (auto error = check_ranks(setup)) return *error;
    if (setup.host.service == Service::unreliable &&
        std::ranges::any_of(setup.flows,
                            [](const Flow& flow) { return flow.operation == Verb::read; }))
        return reads_unreliably(setup);
    std::unique_ptr<Simulation> simulation(new Simulation(setup, std::move(first)));
    if (auto error = simulation->build(partitions, memory)) return *error;
    return simulation;
}

std::optional<Error> Simulation::find_plugins(const Setup& network) {
    const auto find = [&](const HostSettings& host) {
        if (host.congestion != transport::Algorithm::plugin) return true;
        const transport::LoadedPlugin* loaded = host.algorithms.plugin.loaded.get();
        if (loaded != nullptr) plugins_.emplace_back(loaded, loaded->faults());
        return loaded != nullptr;
    };
    bool are_loaded = find(network.host);
    for (const HostOverride& other : network.host_overrides)
        are_loaded = find(other.host) && are_loaded;
    if (are_loaded) return std::nullopt;
    return Error{"the congestion control of " + network.fabric_name +
                 " is a file that was not loaded"};
}

bool Simulation::has_failed_plugin() const {
    return std::ranges::any_of(
        plugins_, [](const auto& plugin) { return plugin.first->faults() != plugin.second; });
}

// The first failure, of either network.
void Simulation::say_what_failed(Result& result) {
    if (!has_failed_plugin()) return;
    std::optional<Network::PluginFailure> first = network_->failed_plugin();
    if (scale_up_) {
        auto inside = scale_up_->failed_plugin();
        if (inside && (!first || inside->at < first->at)) first = std::move(inside);
    }
    result.end = Result::End::plugin_failed;
    if (first) result.stuck_reason = first->sentence;
}

std::optional<Error> Simulation::build(size_t partitions, std::pmr::memory_resource* memory) {
    for (const Setup* network : {&setup_, setup_.scale_up.get()})
        if (network != nullptr)
            if (auto error = find_plugins(*network)) return error;
    const auto window = window_of(setup_);
    if (!window) return window.error();
    window_ = *window;
    const bool is_explained = follows_chain();
    const Share share{window_,
                      memory,
                      {},
                      &ranks_.stored.connections[0],
                      &ranks_.opened_later(Tier::scale_out),
                      &ranks_.stored.groups[0],
                      is_explained,
                      is_explained,
                      &first_.networks[0]};
    auto network = Network::build(setup_, partitions, share);
    if (!network) return network.error();
    network_ = std::move(*network);
    if (setup_.scale_up) {
        Share inside{window_,
                     memory,
                     std::vector<uint32_t>(setup_.scale_up->graph.host_count()),
                     &ranks_.stored.connections[1],
                     &ranks_.opened_later(Tier::scale_up),
                     &ranks_.stored.groups[1],
                     is_explained,
                     false,
                     &first_.networks[1]};
        for (const RankPlace& place : setup_.ranks)
            if (place.scale_up != topology::kNone)
                inside.home[place.scale_up] = network_->partition_of(place.endpoint);
        auto scale_up = Network::build(*setup_.scale_up, partitions, inside);
        if (!scale_up) return scale_up.error();
        scale_up_ = std::move(*scale_up);
    }
    for (const ChainLink& link : first_.chain)
        if (!link.is_task) network_->watch_flow(static_cast<uint32_t>(link.id));
    ranks_.begin({network_.get(), scale_up_.get()}, first_.chain);
    return std::nullopt;
}

uint64_t Simulation::next_window() {
    ranks_.settle();
    uint64_t first = network_->next_window();
    if (scale_up_) first = std::min(first, scale_up_->next_window());
    if (const Instant at = ranks_.next_at(); at != Instant::never())
        first = std::min(first, static_cast<uint64_t>(at.ps / window_.ps));
    return first;
}

void Simulation::advance(size_t partition, uint64_t window) {
    network_->partition(partition).advance(window);
    if (scale_up_) scale_up_->partition(partition).advance(window);
    if (!setup_.program.empty()) ranks_.advance(partition, time_of(window + 1));
}

void Simulation::exchange(size_t partition) {
    network_->exchange(partition);
    if (scale_up_) scale_up_->exchange(partition);
    ranks_.exchange(partition);
}

// The chain of the flow that ended last, or of the program if it ended last. A flow that did not
// end goes before both. Messages of reliable datagrams wait for others at their contexts, and
// nobody notes that, so such a run is not explained.
std::vector<ChainLink> Simulation::find_chain(const Result& result) const {
    for (const Setup* network : {&setup_, setup_.scale_up.get()})
        if (network != nullptr && network->host.service == Service::datagram) return {};
    uint32_t last = kNobody;
    Instant end{};
    for (uint32_t i = 0; i < result.flows.size(); ++i) {
        const FlowResult& flow = result.flows[i];
        const bool has_ended = flow.finished || flow.status != transport::Status::success;
        const Instant at = has_ended ? setup_.flows[i].start + flow.completion : Instant::never();
        if (at <= end) continue;
        end = at;
        last = i;
    }
    std::vector<ChainLink> chain = ranks_.chain();
    Instant program_end{};
    for (const PhaseResult& phase : result.phases) program_end = std::max(program_end, phase.end);
    if (last != kNobody && (chain.empty() || end > program_end)) return {{last, false, false}};
    return chain;
}

void Simulation::say_why_stuck(Result& result) const {
    if (program_has_ended() || result.end != Result::End::done) return;
    result.end = Result::End::stuck;
    const std::string why = ranks_.why_unfinished();
    result.stuck_reason =
        "nothing can happen any more: " +
        (why.empty() ? "a program has not come to its end, and no packet, timer or event is left"
                     : why);
}

// Only the account and the end of the run: an earlier run found the rest.
Result Simulation::finish_account(Result::End end) {
    Result result = network_->finish_briefly(end, program_has_ended());
    if (scale_up_) scale_up_->finish_briefly(end, program_has_ended());
    say_why_stuck(result);
    result.account = account_for(setup_, first_.chain, ranks_, *network_, scale_up_.get());
    return result;
}

Result Simulation::finish(Result::End end) {
    if (follows_chain()) return finish_account(end);
    const bool is_done = program_has_ended();
    Result result = network_->finish(end, is_done);
    std::shared_ptr<Result> inside;
    if (scale_up_) inside = std::make_shared<Result>(scale_up_->finish(end, is_done));
    if (!setup_.program.empty()) {
        ranks_.finish(result, inside.get());
        say_why_stuck(result);
    }
    network_->leave_out_management_after(result.time, result);
    result.account.chain = find_chain(result);
    if (inside) {
        result.engine.events += inside->engine.events;
        result.engine.hops += inside->engine.hops;
    }
    result.scale_up = std::move(inside);
    say_what_failed(result);
    result.hash = run_hash(setup_, result);
    return result;
}

}  // namespace tulle::sim
