#include "control/distributed/distributed.h"

#include <algorithm>

#include "control/judge.h"

namespace tulle::control {
namespace {

using base::Duration;
using base::Instant;

// Longer than any timer takes to find a dead neighbour and to try again.
Duration patience(const DistributedSettings& settings) {
    return settings.speaker.hold + 3 * settings.speaker.retry + Duration{60'000'000'000'000};
}

void apply(const Disturbance& disturbance, FabricOfSpeakers& fabric) {
    using Kind = Disturbance::Kind;
    switch (disturbance.kind) {
        case Kind::cable_down:
        case Kind::cable_up:
            return fabric.set_cable(disturbance.subject, disturbance.kind == Kind::cable_up);
        case Kind::switch_down:
        case Kind::switch_up:
            return fabric.set_switch(disturbance.subject, disturbance.kind == Kind::switch_up);
        case Kind::manager_down: return;  // nobody is in charge
    }
}

Instant last_of(const std::vector<TableWrite>& writes, Instant least) {
    for (const TableWrite& write : writes) least = std::max(least, write.at);
    return least;
}

}  // namespace

base::Result<History> run_distributed(const topology::Graph& graph,
                                      const std::vector<Duration>& delays,
                                      const DistributedSettings& settings,
                                      const std::vector<Disturbance>& disturbances) {
    FabricOfSpeakers fabric(graph, delays, settings);
    History history;
    history.way = "BGP";
    history.target_of = fabric.prefix_of();
    history.target_count = fabric.prefix_count();
    if (!fabric.run_until_settled(Instant{} + patience(settings)))
        return base::Error{"the routes of the fabric do not settle: some session never comes up"};
    const Instant begin = last_of(fabric.take_writes(), fabric.now());
    fabric.run_until(begin);
    history.bring_up = begin - Instant{};
    history.bring_up_messages = fabric.messages();
    history.tables = fabric.tables();
    uint64_t told = fabric.messages();
    for (const Disturbance& disturbance : disturbances) {
        const Instant at = begin + (disturbance.at - Instant{});
        fabric.run_until(at);
        if (!history.repairs.empty()) history.repairs.back().messages = fabric.messages() - told;
        told = fabric.messages();
        apply(disturbance, fabric);
        history.repairs.push_back({.cause = disturbance});
    }
    if (!disturbances.empty()) {
        fabric.run_until_settled(fabric.now() + patience(settings));
        history.repairs.back().messages = fabric.messages() - told;
    }
    history.writes = fabric.take_writes();
    for (TableWrite& write : history.writes) write.at = Instant{} + (write.at - begin);
    std::ranges::stable_sort(history.writes, {}, &TableWrite::at);
    history.lists = fabric.lists();
    judge_repairs(graph, history);
    return history;
}

}  // namespace tulle::control
