// Measures how long it takes to route a subnet, on one core. The fat trees of 648 (two tiers) and
// 11,664 hosts (three) are full trees of switches with 36 ports. TULLE_BENCH_LARGE=1 adds the
// second. The first is also routed without 30 of its cables, which takes longer: several tables are
// made, and the best is taken.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "base/random.h"
#include "control/subnet/routing/repair.h"
#include "topology/spec.h"

namespace tulle::control {
namespace {

// Up to `count` cables between switches, the same each time.
std::vector<bool> broken_cables(const topology::Graph& graph, int count) {
    base::RandomStream random({.seed = 1, .kind = 0, .index = 0});
    std::vector<bool> down(graph.cables.size());
    for (int i = 0; i < count; ++i) {
        uint64_t cable = 0;
        do cable = random.below(graph.cables.size());
        while (graph.nodes[graph.cables[cable].a.node].is_host() ||
               graph.nodes[graph.cables[cable].b.node].is_host());
        down[cable] = true;
    }
    return down;
}

void route(benchmark::State& state, const char* engine, const char* fabric, int broken) {
    const auto graph = topology::build_spec(fabric);
    const auto owners = assign_lids(*graph);
    const auto subnet = Subnet::make(*graph, *owners, broken_cables(*graph, broken));
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
            benchmark::RegisterBenchmark(("route/" + name).c_str(), route, engine, fabric, 0)
                ->Unit(benchmark::kMillisecond);
            if (fabric == kSmall)
                benchmark::RegisterBenchmark(("route/" + name + "-30").c_str(), route, engine,
                                             fabric, 30)
                    ->Unit(benchmark::kMillisecond);
            benchmark::RegisterBenchmark(("repair/" + name).c_str(), repair_link, engine, fabric)
                ->Unit(benchmark::kMillisecond);
        }
    }
    return true;
}();

}  // namespace
}  // namespace tulle::control
