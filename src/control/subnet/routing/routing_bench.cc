// How long a subnet takes to route, on one core. The fat trees of 648 (two tiers) and 11,664 hosts
// (three) are full trees of switches with 36 ports.
#include <benchmark/benchmark.h>

#include "control/subnet/routing/repair.h"
#include "topology/spec.h"

namespace tulle::control {
namespace {

void route(benchmark::State& state, const char* engine, const char* fabric) {
    const auto graph = topology::build_spec(fabric);
    const auto owners = assign_lids(*graph);
    const auto subnet = Subnet::make(*graph, *owners);
    for (auto _ : state) {
        Routing routing = routing_engine_named(engine)->route(*subnet, {});
        benchmark::DoNotOptimize(routing.tables);
    }
}

// After the first cable between a leaf and a spine broke; the new subnet is made beforehand.
void repair_link(benchmark::State& state, const char* engine, const char* fabric) {
    const auto graph = topology::build_spec(fabric);
    const auto owners = assign_lids(*graph);
    const auto before = Subnet::make(*graph, *owners);
    std::vector<bool> down(graph->cables.size());
    uint32_t cable = 0;
    while (graph->nodes[graph->cables[cable].a.node].is_host()) ++cable;
    down[cable] = true;
    const auto after = Subnet::make(*graph, *owners, down);
    const RoutingEngine& router = *routing_engine_named(engine);
    const Routing routing = router.route(*before, {});
    Repaired repaired;
    for (auto _ : state) {
        repaired = repair(*before, *after, router, {}, routing);
        benchmark::DoNotOptimize(repaired.changed_entries);
    }
    state.counters["entries"] = static_cast<double>(repaired.changed_entries);
    state.counters["blocks"] = static_cast<double>(repaired.changed_blocks);
}

constexpr const char* kSmall = "fat-tree:k=36,tiers=2";
constexpr const char* kLarge = "fat-tree:k=36";

BENCHMARK_CAPTURE(route, min_hop_648, "min-hop", kSmall)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(route, up_down_648, "up-down", kSmall)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(route, fat_tree_648, "fat-tree", kSmall)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(route, dfsssp_648, "dfsssp", kSmall)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(route, min_hop_11664, "min-hop", kLarge)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(route, up_down_11664, "up-down", kLarge)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(route, fat_tree_11664, "fat-tree", kLarge)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(route, dfsssp_11664, "dfsssp", kLarge)->Unit(benchmark::kMillisecond);

BENCHMARK_CAPTURE(repair_link, fat_tree_648, "fat-tree", kSmall)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(repair_link, dfsssp_648, "dfsssp", kSmall)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(repair_link, min_hop_11664, "min-hop", kLarge)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(repair_link, up_down_11664, "up-down", kLarge)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(repair_link, fat_tree_11664, "fat-tree", kLarge)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(repair_link, dfsssp_11664, "dfsssp", kLarge)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tulle::control
