#include "cli/sim/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "base/units.h"
#include "cli/machine.h"
#include "cli/output.h"
#include "workload/schedule.h"

namespace tulle::cli {
namespace {

using workload::Task;
using workload::Tier;

// Hops per second of one thread, by number of hosts: a cluster that fits into a cache is faster
// (bench/results.md, permutations). Credits reach about half.
struct Speed {
    uint64_t hosts;
    uint64_t hops_per_second;
};
constexpr Speed kSpeeds[] = {{128, 13'000'000}, {1024, 9'000'000}, {UINT64_MAX, 4'500'000}};
constexpr uint64_t kCreditsPercent = 55;
constexpr uint64_t kThreadPercent = 88;  // of one more thread, from the same table
// The cost of a task besides its hops, set-up included: measured with an all-to-all of 512 ranks
// and an all-reduce of 256.
constexpr uint64_t kNanosecondsPerTask = 5000;

constexpr uint64_t kMinute = 60;

// The length of paths in links: exact from a few hosts to all their destinations, averaged for the
// others.
class Distances {
public:
    explicit Distances(const topology::Graph& graph)
        : graph_(graph), ports_(graph), hosts_(graph.endpoints()) {}

    uint32_t between(uint32_t source, uint32_t destination) {
        const auto known = from_.find(source);
        if (known != from_.end()) return known->second[hosts_[destination]];
        if (from_.size() < kMostSources)
            return from_.emplace(source, search(hosts_[source])).first->second[hosts_[destination]];
        return average();
    }

private:
    static constexpr size_t kMostSources = 16;

    std::vector<uint32_t> search(uint32_t root) const {
        std::vector<uint32_t> found(graph_.nodes.size(), 0);
        std::vector<bool> is_known(graph_.nodes.size());
        std::vector<uint32_t> queue = {root};
        is_known[root] = true;
        for (size_t next = 0; next < queue.size(); ++next) {
            const uint32_t node = queue[next];
            for (uint16_t port = 0; port < graph_.nodes[node].port_count; ++port) {
                const auto& end = ports_.at({node, port});
                if (end.cable == topology::kNone || is_known[end.peer.node]) continue;
                is_known[end.peer.node] = true;
                found[end.peer.node] = found[node] + 1;
                queue.push_back(end.peer.node);
            }
        }
        return found;
    }

    uint32_t average() {
        if (average_ != 0) return average_;
        const uint64_t pairs = from_.size() * hosts_.size();
        uint64_t sum = 0;
        for (const auto& [source, found] : from_)
            for (const uint32_t host : hosts_) sum += found[host];
        average_ = static_cast<uint32_t>(std::max<uint64_t>(1, (sum + pairs / 2) / pairs));
        return average_;
    }

    const topology::Graph& graph_;
    const topology::Ports ports_;
    const std::vector<uint32_t> hosts_;
    std::map<uint32_t, std::vector<uint32_t>> from_;
    uint32_t average_ = 0;
};

// Counts data and acknowledgements.
uint64_t packets_of(uint64_t bytes, const sim::HostSettings& host) {
    const uint64_t data = std::max<uint64_t>(1, (bytes + host.mtu - 1) / host.mtu);
    if (host.service == sim::Service::unreliable) return data;
    return data + std::max<uint64_t>(1, data / std::max(1u, host.ack_every));
}

constexpr uint64_t kTurnsOpen = 4;     // chosen: turns under way and turns not closed yet
constexpr uint64_t kHopsInServer = 2;  // to its switch and back

uint64_t hops_of(const sim::Setup& setup) {
    Distances distances(setup.graph);
    uint64_t hops = 0;
    for (const sim::Flow& flow : setup.flows)
        hops +=
            packets_of(flow.bytes, setup.host) * distances.between(flow.source, flow.destination);
    workload::visit_traffic(setup.program, [&](const workload::Traffic& traffic) {
        const uint64_t bytes = traffic.bytes / traffic.messages;
        if (traffic.tier == Tier::scale_up)
            hops += traffic.messages * packets_of(bytes, setup.scale_up->host) * kHopsInServer;
        else
            hops += traffic.messages * packets_of(bytes, setup.host) *
                    distances.between(setup.ranks[traffic.rank].endpoint,
                                      setup.ranks[traffic.peer].endpoint);
    });
    return hops;
}

uint64_t hops_per_second(const sim::Setup& setup) {
    const uint64_t hosts = setup.graph.host_count();
    uint64_t speed = 0;
    for (const Speed& one : kSpeeds)
        if (speed == 0 && hosts <= one.hosts) speed = one.hops_per_second;
    const bool has_credits = setup.fabric.flow_control == fabric::FlowControl::credits;
    return has_credits ? speed * kCreditsPercent / 100 : speed;
}

// Generated phases that are open at the same time: a phase closes when a rank moves on to others.
uint64_t connections_under_way(const sim::Setup& setup) {
    uint64_t most = 0;
    for (const workload::GeneratedPhase& phase : setup.program.generated) {
        if (!phase.schedule) continue;
        const workload::CollectiveOptions& options = phase.schedule->options();
        const bool takes_turns =
            options.algorithm == workload::Algorithm::direct && options.peers != 0;
        const uint64_t turns = uint64_t{kTurnsOpen} * options.peers * options.channels;
        const uint64_t streams = phase.schedule->stream_count();
        most = std::max(
            most, phase.placement->size() * (takes_turns ? std::min(turns, streams) : streams));
    }
    return most;
}

// Each rank notes for each message stream into it what has arrived (sim::Marks), while the phase is
// open.
uint64_t inlets_under_way(const sim::Setup& setup) {
    uint64_t most = 0;
    for (const workload::GeneratedPhase& phase : setup.program.generated)
        if (phase.schedule)
            most =
                std::max(most, uint64_t{phase.placement->size()} * phase.schedule->inlet_count());
    return most;
}

// Pairs of ranks that communicate, over either network.
uint64_t connections_of(const sim::Setup& setup) {
    std::set<std::tuple<uint32_t, uint32_t, uint32_t>> pairs;
    for (const Task& task : setup.program.tasks())
        if (task.kind != Task::Kind::compute)
            pairs.insert({task.rank, task.peer,
                          static_cast<uint32_t>(task.channel) << 1 |
                              static_cast<uint32_t>(task.tier == Tier::scale_up)});
    return pairs.size() + connections_under_way(setup);
}

// Peak memory of the process divided by these counts, measured on permutations of 128 to 3,456
// hosts, all-to-alls of 64 to 512 ranks and an all-reduce of 256.
constexpr uint64_t kBytesPerPort = 1950;
constexpr uint64_t kBytesPerFlow = 1850;
constexpr uint64_t kBytesPerConnection = 3200;
constexpr uint64_t kBytesPerTask = 215;
constexpr uint64_t kBytesPerInlet = 64;
constexpr uint64_t kBytesPerTracedHop = 64;  // chosen: a sample, doubled while it is sorted

uint64_t memory_of(const sim::Setup& setup, uint64_t hops, bool keeps_trace) {
    uint64_t ports = 2 * setup.graph.cables.size();
    if (setup.scale_up) ports += 2 * setup.scale_up->graph.cables.size();
    return ports * kBytesPerPort + setup.flows.size() * kBytesPerFlow +
           connections_of(setup) * kBytesPerConnection + setup.program.size() * kBytesPerTask +
           inlets_under_way(setup) * kBytesPerInlet +
           (setup.trace && keeps_trace ? hops * kBytesPerTracedHop : 0);
}

}  // namespace

Estimate estimate(std::span<const sim::Setup> setups, const Way& way) {
    Estimate sum;
    uint64_t milliseconds = 0;
    std::vector<uint64_t> memory;
    for (const sim::Setup& setup : setups) {
        const uint64_t hops = hops_of(setup);
        const uint64_t percent = 100 + (way.threads - 1) * kThreadPercent;
        sum.hops += hops * way.passes;
        const uint64_t tasks_ms = setup.program.task_count() * kNanosecondsPerTask / 1'000'000;
        milliseconds += (hops * 1000 / hops_per_second(setup) + tasks_ms) * 100 / percent;
        memory.push_back(memory_of(setup, hops, way.keeps_trace));
    }
    // The largest number that can be under way at the same time.
    std::sort(memory.rbegin(), memory.rend());
    const uint32_t at_a_time = std::max(1u, way.workers / std::max(1u, way.threads));
    memory.resize(std::min<size_t>(memory.size(), at_a_time));
    for (const uint64_t bytes : memory) sum.memory_bytes += bytes;
    sum.seconds = way.passes * milliseconds / 1000 / std::max<uint64_t>(1, memory.size());
    return sum;
}

std::optional<std::string> warning(const Estimate& estimate, uint64_t memory_available) {
    const bool is_long = estimate.seconds >= kMinute;
    const bool is_large = memory_available != 0 && estimate.memory_bytes > memory_available;
    if (!is_long && !is_large) return std::nullopt;
    const std::string time = estimate.seconds < 2 * kMinute ? fmt::format("{} s", estimate.seconds)
                             : estimate.seconds < 120 * kMinute
                                 ? fmt::format("{} min", estimate.seconds / kMinute)
                                 : fmt::format("{} h", estimate.seconds / 3600);
    std::string text =
        fmt::format("this will take about {}, {} million hops, and {} of memory", time,
                    estimate.hops / 1'000'000, base::bytes_to_string(estimate.memory_bytes));
    if (is_large)
        text += fmt::format(", of which {} is free; fewer hosts or smaller messages need less",
                            base::bytes_to_string(memory_available));
    return text;
}

void warn_of_cost(std::string_view command, const Estimate& estimate) {
    if (const auto text = warning(estimate, memory_available())) tell("{}: {}\n", command, *text);
}

}  // namespace tulle::cli
