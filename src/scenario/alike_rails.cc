#include "scenario/alike_rails.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "workload/placement.h"
#include "workload/schedule.h"

namespace tulle::scenario {
namespace {

using workload::GeneratedPhase;
using workload::Placement;
using workload::Schedule;

// The rail of a node: an adapter's own; a switch's, if the adapters on it are of one rail.
constexpr uint32_t kNoRail = 0xffff'ffff;
constexpr uint32_t kSeveralRails = 0xffff'fffe;

std::vector<uint32_t> rails_of_nodes(const topology::Graph& graph) {
    std::vector<uint32_t> rails(graph.nodes.size(), kNoRail);
    for (uint32_t i = 0; i < rails.size(); ++i)
        if (graph.nodes[i].is_host()) rails[i] = graph.nodes[i].rail;
    for (const topology::Cable& cable : graph.cables)
        for (const auto& [host, other] :
             {std::pair(cable.a.node, cable.b.node), std::pair(cable.b.node, cable.a.node)})
            if (graph.nodes[host].is_host() && !graph.nodes[other].is_host())
                rails[other] = rails[other] == kNoRail || rails[other] == rails[host]
                                   ? rails[host]
                                   : kSeveralRails;
    return rails;
}

// Whether every cable belongs to one rail, and the rails have the same cables.
bool has_alike_cables(const topology::Graph& graph, uint32_t rails) {
    using Line = std::tuple<uint64_t, int64_t, uint32_t, uint64_t>;
    const std::vector<uint32_t> rail_of = rails_of_nodes(graph);
    std::vector<std::vector<Line>> lines(rails);
    for (const topology::Cable& cable : graph.cables) {
        const uint32_t rail = std::min(rail_of[cable.a.node], rail_of[cable.b.node]);
        if (rail >= rails) return false;
        lines[rail].emplace_back(cable.rate_bps, cable.delay.ps, cable.length_mm,
                                 cable.loss_per_trillion);
    }
    for (std::vector<Line>& one : lines) std::ranges::sort(one);
    return std::ranges::all_of(lines, [&](const auto& one) { return one == lines[0]; });
}

bool has_exceptions(const sim::Setup& setup) {
    return !setup.host_overrides.empty() || !setup.qos.empty() || !setup.tenants.empty() ||
           !setup.switches.empty() || !setup.cable_errors.empty() || !setup.paths.empty() ||
           !setup.faults.empty();
}

// Whether ranks are where the schedule takes them to be: on the rail of their own number.
bool are_on_their_rails(const sim::Setup& setup, const Placement& placement) {
    const std::vector<uint32_t> hosts = setup.graph.endpoints();
    const uint32_t rails = placement.largest_server();
    for (uint32_t i = 0; i < placement.size(); ++i) {
        const sim::RankPlace& place = setup.ranks[placement[i].rank];
        if (placement[i].local != i % rails ||
            setup.graph.nodes[hosts[place.endpoint]].rail != i % rails ||
            place.compute_permille != 1000 || place.reaction_permille != 1000)
            return false;
    }
    return true;
}

uint32_t rails_of(const GeneratedPhase& phase) {
    const workload::CollectiveOptions& options = phase.schedule->options();
    const Placement& placement = *phase.placement;
    const bool is_known = options.algorithm == workload::Algorithm::tree &&
                          options.collective == workload::Collective::all_reduce &&
                          placement.is_regular() && placement.has_scale_up();
    const uint32_t rails = placement.largest_server();
    return is_known && options.channels == rails ? rails : 1;
}

std::shared_ptr<const Schedule> on_one_rail(const Schedule& all,
                                            const std::shared_ptr<const Placement>& placement) {
    workload::CollectiveOptions options = all.options();
    options.bytes /= options.channels;
    options.channels = 1;
    auto one = Schedule::make(options, placement);
    TULLE_CHECK(one != nullptr);  // its messages are as long as those of all
    return one;
}

}  // namespace

uint32_t alike_rails(const sim::Setup& setup) {
    uint32_t rails = 0;
    const Placement* placement = nullptr;
    for (const GeneratedPhase& phase : setup.program.generated) {
        if (placement != nullptr && phase.placement.get() != placement) return 1;
        placement = phase.placement.get();
        if (!phase.schedule) continue;
        const uint32_t found = rails_of(phase);
        if (rails != 0 && found != rails) return 1;
        rails = found;
    }
    const bool are_alike =
        rails > 1 && setup.scale_up && !has_exceptions(setup) && !has_exceptions(*setup.scale_up) &&
        setup.control.kind == sim::ControlSettings::Kind::given &&
        are_on_their_rails(setup, *placement) && has_alike_cables(setup.graph, rails);
    return are_alike ? rails : 1;
}

void fold_rails(sim::Setup& setup) {
    sim::StandIns& stand_ins = setup.stand_ins;
    stand_ins.rails = alike_rails(setup);
    workload::Program program;
    program.phases = setup.program.phases;
    program.jobs = setup.program.jobs;
    std::map<const Schedule*, std::shared_ptr<const Schedule>> folded;  // repetitions share one
    for (GeneratedPhase phase : setup.program.generated) {
        if (phase.schedule) {
            auto& schedule = folded[phase.schedule.get()];
            if (!schedule) schedule = on_one_rail(*phase.schedule, phase.placement);
            phase.schedule = schedule;
        }
        program.add(std::move(phase));
    }
    setup.program = std::move(program);
    stand_ins.places.resize(setup.ranks.size());
    std::iota(stand_ins.places.begin(), stand_ins.places.end(), 0u);
    const Placement& placement = *setup.program.generated.front().placement;
    for (uint32_t i = 0; i < placement.size(); ++i)
        stand_ins.places[placement[i].rank] = placement[i - i % stand_ins.rails].rank;
}

}  // namespace tulle::scenario
