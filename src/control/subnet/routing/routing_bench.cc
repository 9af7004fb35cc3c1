// Measures how long it takes to route a subnet, on one core. The fat trees of 648 (two tiers) and
// 11,664 hosts (three) are full trees of switches with 36 ports. TULLE_BENCH_LARGE=1 adds the
// second.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>
#include <utility>

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

// The first cable between a leaf and a spine is broken. The new subnet is made beforehand.
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

const bool kRegistered = [] {
    const bool is_large = std::getenv("TULLE_BENCH_LARGE") != nullptr;
    for (const auto& [hosts, fabric] : {std::pair{"648", kSmall}, {"11664", kLarge}}) {
        if (fabric == kLarge && !is_large) break;
        for (const char* engine : {"min-hop", "up-down", "fat-tree", "dfsssp"}) {
            const std::string name = std::string(engine) + "/" + hosts;
            benchmark::RegisterBenchmark(("route/" + name).c_str(), route, engine, fabric)
                ->Unit(benchmark::kMillisecond);
            benchmark::RegisterBenchmark(("repair/" + name).c_str(), repair_link, engine, fabric)
                ->Unit(benchmark::kMillisecond);
        }
    }
    return true;
}();

}  // namespace
}  // namespace tulle::control
