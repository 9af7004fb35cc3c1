#include "run.h"

#include <cstdio>

#include "drive/run.h"
#include "invariants.h"
#include "outcome.h"
#include "sim/course.h"
#include "world.h"

namespace tulle::fabric_swarm {
namespace {

using sim::Result;
using sim::Simulation;

constexpr uint64_t kMostWindows = 20'000'000;
constexpr uint64_t kMostWindowsForThreads = 5'000;
constexpr uint64_t kWindowsBetweenLooks = 7;  // few enough, and in step with nothing

struct Watched {
    std::string failure;
    uint64_t hash = 0;
    uint64_t windows = 0;
    Result result;
};

Seen look_at(sim::Network& network) {
    Seen seen;
    for (size_t p = 0; p < network.partitions(); ++p) {
        cluster::Partition& partition = network.partition(p);
        seen.ended = std::max(seen.ended, partition.acted_until());
        for (const cluster::HostNode& host : partition.hosts())
            seen.ecn_marks += host.adapter().counters().np_ecn_marked_roce_packets;
    }
    return seen;
}

// Partitions one after the other; looks into them now and then.
Watched watch(const sim::Setup& setup, Simulation& simulation) {
    Watched watched;
    sim::Course course(setup, simulation);
    for (; !course.is_over(); course.choose()) {
        for (size_t p = 0; p < simulation.partitions(); ++p) simulation.advance(p, course.window());
        for (size_t p = 0; p < simulation.partitions(); ++p) simulation.exchange(p);
        if (++watched.windows == kMostWindows) {
            watched.failure = "the run does not end";
            return watched;
        }
        if (watched.windows % kWindowsBetweenLooks != 0 && watched.windows > 100) continue;
        watched.failure = check_between_windows(setup, simulation);
        if (!watched.failure.empty()) return watched;
    }
    watched.failure = check_between_windows(setup, simulation);
    const bool is_at_rest = simulation.next_window() == Simulation::kNoWindow;
    if (is_at_rest && watched.failure.empty()) watched.failure = check_at_rest(setup, simulation);
    if (!watched.failure.empty()) return watched;
    const Seen seen = look_at(simulation.network(workload::Tier::scale_out));
    const Seen inside =
        setup.scale_up ? look_at(simulation.network(workload::Tier::scale_up)) : seen;
    watched.result = simulation.finish(course.end());
    watched.failure = check_result(setup, watched.result, seen, inside);
    watched.hash = hash_of(watched.result);
    return watched;
}

Tally tally_of(const Result& result) {
    Tally tally;
    tally.hops = result.engine.hops;
    tally.flows = result.flows.size();
    for (const sim::FlowResult& flow : result.flows) tally.finished += flow.finished ? 1 : 0;
    tally.stuck = result.end == Result::End::stuck ? 1 : 0;
    tally.stopped = result.end == Result::End::stop_time ? 1 : 0;
    tally.deadlocks = result.deadlock.empty() ? 0 : 1;
    for (const uint64_t count : result.totals.dropped) tally.dropped += count;
    tally.pauses = result.totals.pause_frames;
    tally.credits = result.totals.credit_packets;
    tally.marked = result.totals.ecn_marked;
    tally.trimmed = result.totals.trimmed;
    tally.watchdogs = result.totals.watchdog_fired;
    tally.programs = result.phases.empty() ? 0 : 1;
    tally.inside = result.scale_up ? 1 : 0;
    tally.phases = result.phases.size();
    for (const sim::PhaseResult& phase : result.phases) {
        tally.phases_finished += phase.finished ? 1 : 0;
        tally.messages += phase.messages;
    }
    tally.reduced = result.scale_up ? result.scale_up->totals.reduced : 0;
    return tally;
}

void tell(const sim::Setup& setup) {
    const fabric::Settings& f = setup.fabric;
    std::printf("%zu hosts, %zu switches, %zu cables, %zu flows, %zu faults\n",
                setup.graph.host_count(), setup.graph.switch_count(), setup.graph.cables.size(),
                setup.flows.size(), setup.faults.size());
    std::printf("flow control %d, forwarding %d, latency %lld, whole ns %d, bit errors %d\n",
                static_cast<int>(f.flow_control), static_cast<int>(f.node.forwarding),
                static_cast<long long>(f.node.latency.ps), f.link.whole_nanoseconds,
                static_cast<int>(f.link.bit_errors));
    std::printf("mtu %u, gap %u, envelope %u, minimum %u, fixed %u and %u\n", setup.host.mtu,
                f.link.gap_bytes, f.framing.envelope_bytes, f.framing.minimum_bytes,
                f.framing.fixed_header_bytes, f.framing.fixed_ack_bytes);
    std::printf("congestion %d, delivery %d, service %d, route %d by %d, %zu tenants, %zu trees\n",
                static_cast<int>(setup.host.congestion), static_cast<int>(setup.host.delivery),
                static_cast<int>(setup.host.service), static_cast<int>(f.route.kind),
                static_cast<int>(f.route.choice), setup.tenants.size(), setup.trees.size());
    std::printf("loads in %llu bytes, %lld ps, warnings above %llu, words above %llu\n",
                static_cast<unsigned long long>(f.route.load_step_bytes),
                static_cast<long long>(f.route.load_period.ps),
                static_cast<unsigned long long>(f.route.warn_above_bytes),
                static_cast<unsigned long long>(f.back_pressure.above_bytes));
    std::printf("reaction %lld, %zu ranks, %u tasks%s\n",
                static_cast<long long>(setup.host.reaction.ps), setup.ranks.size(),
                setup.program.size(), setup.scale_up ? "; inside servers:" : "");
    if (setup.scale_up) tell(*setup.scale_up);
    for (const sim::Fault& fault : setup.faults)
        std::printf("fault %d of %u at %lld\n", static_cast<int>(fault.kind), fault.subject,
                    static_cast<long long>(fault.at.ps));
}

void tell(const sim::Setup& setup, const Result& result) {
    std::printf("%llu hops, %.3f us; ", static_cast<unsigned long long>(result.engine.hops),
                static_cast<double>(result.time.ps) / 1e6);
    std::printf("end %d %s; dropped", static_cast<int>(result.end), result.stuck_reason.c_str());
    for (const uint64_t count : result.totals.dropped)
        std::printf(" %llu", static_cast<unsigned long long>(count));
    std::printf("\n");
    for (size_t i = 0; i < result.phases.size(); ++i)
        std::printf("phase %zu: %s %s %llu bytes, %u ranks, job %u: %s, %lld to %lld ps\n", i,
                    setup.program.phases[i].name.c_str(), setup.program.phases[i].algorithm.c_str(),
                    static_cast<unsigned long long>(setup.program.phases[i].bytes),
                    setup.program.phases[i].ranks, setup.program.phases[i].job,
                    result.phases[i].finished ? "finished" : "not finished",
                    static_cast<long long>(result.phases[i].begin.ps),
                    static_cast<long long>(result.phases[i].end.ps));
    for (size_t i = 0; i < result.flows.size(); ++i)
        std::printf("flow %zu: %u to %u, %llu bytes, operation %d at %lld: %s %d after %lld ps\n",
                    i, setup.flows[i].source, setup.flows[i].destination,
                    static_cast<unsigned long long>(setup.flows[i].bytes),
                    static_cast<int>(setup.flows[i].operation),
                    static_cast<long long>(setup.flows[i].start.ps),
                    result.flows[i].finished ? "finished" : "not finished",
                    static_cast<int>(result.flows[i].status),
                    static_cast<long long>(result.flows[i].completion.ps));
}

// The fast paths: a bit for each of the transport, and above those a bit for each of the fabric.
constexpr uint32_t kFabricShortWays = 2;
constexpr uint32_t kShortWays = transport::kShortWays + kFabricShortWays;

// The same run, in which packets go these long ways.
sim::Setup without_short_ways(sim::Setup setup, uint32_t ways) {
    setup.host.short_ways = static_cast<uint8_t>(setup.host.short_ways & ~ways);
    setup.fabric.short_ways =
        static_cast<uint8_t>(setup.fabric.short_ways & ~(ways >> transport::kShortWays));
    if (setup.scale_up)
        setup.scale_up = std::make_shared<sim::Setup>(without_short_ways(*setup.scale_up, ways));
    return setup;
}

// Without any of them, or without a single one.
uint32_t long_ways_of(uint64_t seed) {
    const auto which = static_cast<uint32_t>(seed % (kShortWays + 1));
    return which == kShortWays ? (1u << kShortWays) - 1 : 1u << which;
}

}  // namespace

Tally& Tally::operator+=(const Tally& other) {
    refused += other.refused, hops += other.hops, flows += other.flows;
    finished += other.finished, stuck += other.stuck, stopped += other.stopped;
    deadlocks += other.deadlocks, dropped += other.dropped, pauses += other.pauses;
    credits += other.credits, marked += other.marked, trimmed += other.trimmed;
    watchdogs += other.watchdogs, programs += other.programs, inside += other.inside;
    phases += other.phases, phases_finished += other.phases_finished;
    messages += other.messages, reduced += other.reduced;
    return *this;
}

Outcome run_seed(uint64_t seed, bool verbose) {
    Outcome outcome;
    uint64_t windows = 0;
    const sim::Setup setup = draw_setup(seed);
    if (verbose) tell(setup);
    for (const size_t partitions : {1, 2, 3, 5}) {
        auto built = Simulation::build(setup, partitions);
        if (!built) {
            if (verbose) std::printf("refused: %s\n", built.error().message.c_str());
            outcome.tally.refused = 1;
            return outcome;
        }
        Watched watched = watch(setup, **built);
        if (verbose && partitions == 1) tell(setup, watched.result);
        const auto count = std::to_string(partitions);
        if (!watched.failure.empty()) {
            outcome.failure = watched.failure + " (" + count + " partitions)";
            return outcome;
        }
        if (partitions == 1) {
            outcome.hash = watched.hash;
            windows = watched.windows;
            outcome.tally = tally_of(watched.result);
        } else if (watched.hash != outcome.hash) {
            outcome.failure = count + " partitions give another result than one";
            return outcome;
        }
    }
    // Threads that meet at every window are slow where others use the cores.
    if (windows > kMostWindowsForThreads) return outcome;
    for (const uint32_t threads : {1u, 2u + static_cast<uint32_t>(seed % 3)}) {
        drive::Options options;
        options.threads = threads;
        const auto run = drive::run(
            threads == 1 ? setup : without_short_ways(setup, long_ways_of(seed)), options);
        if (run && hash_of(*run) == outcome.hash) continue;
        outcome.failure = std::to_string(threads) +
                          (threads == 1 ? " thread gives" : " threads without short ways give") +
                          " another result";
        return outcome;
    }
    return outcome;
}

}  // namespace tulle::fabric_swarm
