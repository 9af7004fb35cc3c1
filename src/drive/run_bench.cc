// The cost of a packet on its way through a fabric: the usual permutations (a fat tree with 100
// Gb/s and 1 us per link, 2,000,000 bytes per host, one ACK per packet) and an incast. Small in
// every test run; TULLE_BENCH_LARGE=1 adds 1,024 and 8,192 hosts.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <numeric>

#include "base/random.h"
#include "drive/run.h"
#include "topology/spec.h"

namespace tulle::drive {
namespace {

enum Kind : int64_t { kPfc, kPfcDcqcn, kCredits };

sim::Setup fabric_of(int64_t k, Kind kind) {
    constexpr uint64_t kRate = 100'000'000'000;
    sim::Setup setup;
    setup.graph = *topology::build_spec("fat-tree:k=" + std::to_string(k));
    fabric::Settings& fabric = setup.fabric;
    fabric.link.rate = base::Rate::bits_per_second(kRate);
    fabric.link.gap_bytes = 0;
    fabric.framing.minimum_bytes = 0;
    fabric.framing.fixed_header_bytes = 64;
    fabric.framing.fixed_ack_bytes = 64;
    setup.host.coalesce_acks = false;
    if (kind == kCredits) {
        fabric.flow_control = fabric::FlowControl::credits;
        fabric.credits.lane_buffer_bytes = 128 << 10;
        return setup;
    }
    fabric.flow_control = fabric::FlowControl::pfc;
    fabric.pfc.priorities = 0xff;
    fabric.pfc.dynamic_threshold = false;
    fabric.pfc.xoff_bytes = 62'400;
    fabric.pfc.xon_offset_bytes = 12'480;
    fabric.pfc.headroom_bytes = 256 << 10;
    if (kind == kPfcDcqcn) {
        fabric.marking = fabric::Marking::ecn;
        setup.host.notifications.service_level = 1;
        setup.host.congestion = transport::Algorithm::dcqcn;
        setup.host.algorithms.dcqcn = transport::DcqcnSettings::of_adapter(kRate);
    }
    return setup;
}

void add_flow(sim::Setup& setup, uint32_t from, uint32_t to) {
    sim::Flow flow;
    flow.source = from;
    flow.destination = to;
    flow.bytes = 2'000'000;
    setup.flows.push_back(flow);
}

void run_setup(benchmark::State& state, const sim::Setup& setup, uint32_t threads) {
    uint64_t hops = 0;
    uint64_t hash = 0;
    double cpu_s = 0;
    for (auto _ : state) {
        const auto result = run(setup, {.threads = threads});
        hops += result->engine.hops;
        cpu_s += result->engine.cpu_s;
        hash = result->hash;
    }
    state.counters["hops_per_cpu_s"] = static_cast<double>(hops) / cpu_s;
    state.SetLabel("hash " + std::to_string(hash));
}

void permutation(benchmark::State& state) {
    sim::Setup setup = fabric_of(state.range(0), static_cast<Kind>(state.range(1)));
    const auto hosts = static_cast<uint32_t>(setup.graph.host_count());
    std::vector<uint32_t> ring(hosts);
    std::iota(ring.begin(), ring.end(), 0u);
    base::RandomStream({1, 0, 0}).shuffle(std::span(ring));
    for (uint32_t i = 0; i < hosts; ++i) add_flow(setup, ring[i], ring[(i + 1) % hosts]);
    run_setup(state, setup, static_cast<uint32_t>(state.range(2)));
}

void incast(benchmark::State& state) {
    sim::Setup setup = fabric_of(8, kPfc);
    for (uint32_t host = 1; host < 128; ++host) add_flow(setup, host, 0);
    run_setup(state, setup, 1);
}

void one_flow(benchmark::State& state) {
    sim::Setup setup = fabric_of(state.range(0), kPfc);
    add_flow(setup, 0, static_cast<uint32_t>(setup.graph.host_count() - 1));
    run_setup(state, setup, 1);
}

BENCHMARK(incast)->Name("incast_127_to_1")->Unit(benchmark::kMillisecond);

const bool kRegistered = [] {
    const bool is_large = std::getenv("TULLE_BENCH_LARGE") != nullptr;
    for (const int64_t k : {8, 16, 32}) {
        if (k > 8 && !is_large) break;
        for (const int64_t kind : {kPfc, kPfcDcqcn, kCredits})
            for (const int64_t threads : {1, 2})
                benchmark::RegisterBenchmark("permutation", permutation)
                    ->ArgNames({"k", "kind", "threads"})
                    ->Args({k, kind, threads})
                    ->Unit(benchmark::kMillisecond);
        benchmark::RegisterBenchmark("one_flow", one_flow)
            ->ArgNames({"k"})
            ->Args({k})
            ->Unit(benchmark::kMillisecond);
    }
    return true;
}();

}  // namespace
}  // namespace tulle::drive
