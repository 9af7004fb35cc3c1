#include <benchmark/benchmark.h>

#include "fabric/routes.h"
#include "topology/builders.h"

namespace tulle::fabric {
namespace {

// The tables of a fat tree of k-port switches; k = 32 has 8,192 hosts.
void compute_routes(benchmark::State& state, RouteKind kind) {
    const auto graph = topology::build(topology::FatTree{static_cast<uint32_t>(state.range(0))});
    size_t bytes = 0;
    for (auto _ : state) bytes = Routes::compute(*graph, kind).memory_bytes();
    state.counters["hosts"] = static_cast<double>(graph->host_count());
    state.counters["table_bytes"] = static_cast<double>(bytes);
}
BENCHMARK_CAPTURE(compute_routes, shortest, RouteKind::shortest)
    ->Arg(16)
    ->Arg(32)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(compute_routes, up_down, RouteKind::up_down)
    ->Arg(16)
    ->Arg(32)
    ->Unit(benchmark::kMillisecond);

// One look-up at a random switch for a random host.
void look_up(benchmark::State& state) {
    const auto graph = topology::build(topology::FatTree{32});
    const Routes routes = Routes::compute(*graph, RouteKind::up_down);
    uint64_t draw = 1;
    for (auto _ : state) {
        draw = draw * 6364136223846793005u + 1442695040888963407u;
        const auto node = static_cast<uint32_t>(8192 + (draw >> 33) % 1280);
        benchmark::DoNotOptimize(routes.ports(node, static_cast<uint32_t>(draw >> 51)));
    }
}
BENCHMARK(look_up);

}  // namespace
}  // namespace tulle::fabric
