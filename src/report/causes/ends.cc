// Causes at hosts, senders and ranks.
#include <fmt/format.h>

#include <algorithm>

#include "report/causes/investigation.h"
#include "sim/rank_trails.h"
#include "workload/placement.h"

namespace tulle::report::causes {
namespace {

std::string receiving_text(CauseKind kind, const std::string& name) {
    if (kind == CauseKind::pause_storm)
        return fmt::format("host {} paused its link for no reason", name);
    if (kind == CauseKind::slow_receiver)
        return fmt::format("host {} does not take what arrives as fast as it comes", name);
    return fmt::format("host {} moves data between memory and adapter no faster", name);
}

// Computation of the job; a launch counts as software of the library.
bool is_computing(const workload::Task& task) {
    return task.kind == workload::Task::Kind::compute && !task.is_launch && task.duration.ps != 0;
}

Duration computing_of(const sim::Setup& setup, const workload::Task& task) {
    return task.duration * setup.ranks[task.rank].compute_permille / 1000;
}

// How long each rank computes in each phase. Tasks of a phase differ: a backward pass takes longer
// than a forward one. What tells a slow rank is the sum of its own beside those of the others.
Computing computing_by_phase(const sim::Setup& setup) {
    Computing by_phase;
    for (const workload::Task& task : setup.program.tasks())
        if (is_computing(task)) by_phase[task.phase][task.rank] += computing_of(setup, task);
    for (const workload::GeneratedPhase& phase : setup.program.generated)
        for (uint32_t i = 0; i < phase.placement->size() && !phase.is_launch; ++i) {
            const uint32_t rank = (*phase.placement)[i].rank;
            by_phase[phase.phase][rank] +=
                computing_of(setup, {.rank = rank, .duration = phase.computing});
        }
    return by_phase;
}

// How much of a rank's time is above that of the usual one, the median.
double part_above_usual(const std::map<uint32_t, Duration>& time_of, uint32_t rank) {
    std::vector<Duration> sorted;
    for (const auto& [any, time] : time_of) sorted.push_back(time);
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::ranges::nth_element(sorted, middle);
    const auto own = static_cast<double>(time_of.at(rank).ps);
    return own == 0 ? 0 : std::max(0.0, 1 - static_cast<double>(middle->ps) / own);
}

}  // namespace

CauseKind Investigation::why_it_does_not_take(uint32_t node) const {
    if (cables_.has_fault(sim::Fault::Kind::pause_storm, node)) return CauseKind::pause_storm;
    const bool is_slow = cables_.has_fault(sim::Fault::Kind::slow_receiver, node);
    return is_slow || facts_.setup.host_of(node).receive_toll.is_free() ? CauseKind::slow_receiver
                                                                        : CauseKind::host_bus;
}

void Investigation::explain_not_taken(Place place, uint32_t node, Duration time) {
    const CauseKind kind = why_it_does_not_take(node);
    const bool is_its_fault = kind != CauseKind::slow_receiver ||
                              cables_.has_fault(sim::Fault::Kind::slow_receiver, node);
    if (const auto far = far_cable(); far && !is_its_fault)
        return add(CauseKind::long_cable, facts_.names.cable(*far), time, cables_.far_text(*far),
                   2 * *far);
    const std::string& name = facts_.names.node(node);
    add(kind, name, time, receiving_text(kind, name), place, node);
}

void Investigation::explain_host(Place place, topology::CableEnd end, const Trouble& all) {
    const std::string& name = facts_.names.node(end.node);
    const uint32_t cable = place / 2;
    explain_not_taken(place, end.node, all.held);
    Trouble own = all;
    own.held = {};
    const Trouble trouble = cables_.is_slow(cable) ? explain_slow(place, own) : own;
    const CauseKind moving = cables_.has_fault(sim::Fault::Kind::slow_receiver, end.node)
                                 ? CauseKind::slow_receiver
                                 : CauseKind::host_bus;
    add(moving, name, all.bus, receiving_text(moving, name), place, end.node);
    explain_adapter(place, end, trouble.queue);
    add(CauseKind::congestion_control, name, trouble.congestion,
        fmt::format("congestion control slowed the sender because of {}", name), place);
    own_bytes_ += trouble.serialization;
}

void Investigation::explain_adapter(Place place, topology::CableEnd end, Duration time) {
    const std::string& name = facts_.names.node(end.node);
    if (const Sharers sharers = crossings_.sharers_at(place); sharers.is_of_others())
        return add(CauseKind::other_work, name, time,
                   fmt::format("{} sends from {} too, and its packets went first",
                               crossings_.work_name(sharers.other), name),
                   place, end.node, sharers.other);
    add(CauseKind::shared_adapter, name, time,
        fmt::format("the adapter of {} sent other packets first", name), place, end.node, {},
        links_.busy_time(end));
}

void Investigation::explain_senders() {
    const Duration window = nowhere_[ShareKind::window];
    if (const auto far = far_cable())
        add(CauseKind::long_cable, facts_.names.cable(*far), window, cables_.far_text(*far),
            2 * *far);
    else
        add(CauseKind::window, "", window,
            "the window was full: more would have to be in flight to fill the way there and "
            "back");
    add(CauseKind::rate_limit, "", nowhere_[ShareKind::rate_limit],
        "the sender keeps to its own rate limit");
    add(CauseKind::congestion_control, "", nowhere_[ShareKind::congestion],
        "congestion control slowed the sender");
    add(CauseKind::not_ready, "", nowhere_[ShareKind::not_ready],
        "the receiver had no buffer posted");
    // A host whose cable is down cannot send, and nothing else reports the reason.
    if (const auto down = what_cuts_off_the_chain())
        add(CauseKind::link_down, *down, nowhere_[ShareKind::held],
            fmt::format("{} was down", *down));
    else
        add(CauseKind::small_buffer, "", nowhere_[ShareKind::held],
            "senders were held up by flow control");
    add(CauseKind::late_start, "", nowhere_[ShareKind::start], "it began late");
}

std::optional<std::string> Investigation::what_cuts_off_the_chain() const {
    for (const uint32_t host : crossings_.hosts_of_chain())
        if (auto down = cables_.what_cuts_off(facts_.names.hosts()[host])) return down;
    return std::nullopt;
}

void Investigation::explain_ranks() {
    for (const auto& [rank, time] : software_)
        if (slow_software_of(rank).ps != 0) computing_.try_emplace(rank);
    if (computing_.empty()) return;  // a program may have millions of tasks
    const Computing by_phase = computing_by_phase(facts_.setup);
    for (const auto& [rank, time] : computing_) {
        if (const std::string target = storage_at(rank); !target.empty()) {
            // Shared GPU memory has a port inside the server, and the adapter of the first GPU.
            const bool is_memory = facts_.setup.ranks[rank].scale_up != topology::kNone;
            add(CauseKind::compute, target, time,
                is_memory ? fmt::format("the memory that is shared beside {} is busy", target)
                          : fmt::format("the drives of {} are busy", target));
            continue;
        }
        const Duration computed = excess_of(rank, by_phase);
        const Duration software = slow_software_of(rank);
        nowhere_[ShareKind::software] -= software;
        add(CauseKind::slow_rank, fmt::format("rank {}", rank), computed + software,
            fmt::format("rank {} takes longer than others to compute or to react", rank),
            fabric::kNowhere, rank);
        add(CauseKind::compute, "", time - std::min(time, computed), "ranks compute");
    }
}

// The host whose storage a rank represents; empty if the rank computes.
std::string Investigation::storage_at(uint32_t rank) const {
    const workload::Program& program = facts_.setup.program;
    const bool has_drives = std::ranges::any_of(program.tasks(), [&](const workload::Task& task) {
        const workload::Collective what = program.phases[task.phase].collective;
        const bool is_storage = what == workload::Collective::storage_read ||
                                what == workload::Collective::storage_write;
        return is_storage && task.rank == rank && task.kind == workload::Task::Kind::compute;
    });
    if (!has_drives) return "";
    const auto& graph = facts_.setup.graph;
    return graph.nodes[graph.endpoints()[facts_.setup.ranks[rank].endpoint]].name;
}

// The part of a rank's computing on the chain that the usual rank of the same phase would save.
Duration Investigation::excess_of(uint32_t rank, const Computing& by_phase) const {
    std::map<uint32_t, double> parts;  // by phase: of the rank's time, what is too much
    Duration excess{};
    for (const sim::ChainLink& link : account_.chain) {
        if (!link.is_task) continue;
        const workload::Task task = sim::task_of(facts_.setup.program, link);
        if (!is_computing(task) || task.rank != rank) continue;
        const auto [part, is_new] = parts.try_emplace(task.phase, 0.0);
        if (is_new) part->second = part_above_usual(by_phase.at(task.phase), rank);
        const auto time = static_cast<double>(computing_of(facts_.setup, task).ps);
        excess += Duration{static_cast<int64_t>(time * part->second)};
    }
    return excess;
}

// The extra time of a slow rank's software compared with the others.
Duration Investigation::slow_software_of(uint32_t rank) const {
    const int64_t permille = facts_.setup.ranks[rank].reaction_permille;
    const auto found = software_.find(rank);
    if (found == software_.end() || permille <= 1000) return {};
    return found->second - found->second * 1000 / permille;
}

}  // namespace tulle::report::causes
