#include "control/distributed/distributed.h"

#include <algorithm>
#include <iterator>

#include "control/distributed/fabric_of_bridges.h"
#include "control/distributed/fabric_of_speakers.h"
#include "control/distributed/lldp.h"
#include "control/judge.h"

namespace tulle::control {
namespace {

using base::Duration;
using base::Instant;

// Longer than it takes any timer to detect a dead neighbour and to retry.
Duration patience(const DistributedSettings& settings) {
    constexpr Duration kMinute{60'000'000'000'000};
    if (settings.protocol == Protocol::spanning_tree)
        return settings.bridge.max_age + 3 * settings.bridge.forward_delay + kMinute;
    return settings.speaker.hold + 3 * settings.speaker.retry + kMinute;
}

template <class Fabric>
void apply(const Disturbance& disturbance, Fabric& fabric) {
    using Kind = Disturbance::Kind;
    switch (disturbance.kind) {
        case Kind::cable_down:
        case Kind::cable_up:
            return fabric.set_cable(disturbance.subject, disturbance.kind == Kind::cable_up);
        case Kind::switch_down:
        case Kind::switch_up:
            return fabric.set_switch(disturbance.subject, disturbance.kind == Kind::switch_up);
        case Kind::manager_down: return;  // there is no manager
    }
}

Instant last_of(const std::vector<TableWrite>& writes, Instant least) {
    for (const TableWrite& write : writes) least = std::max(least, write.at);
    return least;
}

// The run begins `rest` after the fabric has come up.
template <class Fabric>
void live_through(const topology::Graph& graph, const std::vector<Disturbance>& disturbances,
                  const DistributedSettings& settings, Duration rest, Fabric& fabric,
                  History& history) {
    const Instant begin = last_of(fabric.take_writes(), fabric.now()) + rest;
    const Duration since_light = begin - Instant{};
    fabric.run_until(begin);
    fabric.take_sent();
    history.bring_up_messages = fabric.messages();
    history.tables = fabric.tables();
    uint64_t told = fabric.messages();
    std::vector<Disturbance> since_bring_up = disturbances;
    for (Disturbance& disturbance : since_bring_up) {
        disturbance.at = disturbance.at + since_light;
        fabric.run_until(disturbance.at);
        if (!history.repairs.empty()) history.repairs.back().messages = fabric.messages() - told;
        told = fabric.messages();
        apply(disturbance, fabric);
        history.repairs.push_back({.cause = disturbance});
        history.repairs.back().cause.at = disturbance.at - since_light;
    }
    if (!disturbances.empty()) {
        fabric.run_until_settled(fabric.now() + patience(settings));
        history.repairs.back().messages = fabric.messages() - told;
    }
    history.writes = fabric.take_writes();
    for (TableWrite& write : history.writes) write.at = write.at - since_light;
    std::ranges::stable_sort(history.writes, {}, &TableWrite::at);
    history.management = lldp_frames(graph, since_bring_up, settings.light, begin, fabric.now());
    std::ranges::copy(fabric.take_sent(), std::back_inserter(history.management));
    for (ManagementSent& sent : history.management) sent.at = sent.at - since_light;
    history.lists = fabric.lists();
}

base::Result<History> run_bgp(const topology::Graph& graph, const std::vector<Duration>& delays,
                              const std::vector<uint64_t>& rates_bps,
                              const DistributedSettings& settings,
                              const std::vector<Disturbance>& disturbances) {
    FabricOfSpeakers fabric(graph, delays, rates_bps, settings);
    History history;
    history.way = "BGP";
    history.target_of = fabric.prefix_of();
    history.target_count = fabric.prefix_count();
    if (!fabric.run_until_settled(Instant{} + patience(settings)))
        return base::Error{"the routes of the fabric do not settle: some session never comes up"};
    history.bring_up = last_of(fabric.writes(), fabric.now()) - Instant{};
    live_through(graph, disturbances, settings, Duration{}, fabric, history);
    return history;
}

// Describes the tree: its root and the number of blocked cables.
std::string tree_text(const topology::Graph& graph, const FabricOfBridges& fabric) {
    constexpr BridgeId kAddress = 0xffff'ffff;
    const auto first = std::ranges::find(graph.nodes, false, &topology::Node::is_host);
    const BridgeId root = fabric.bridge(static_cast<uint32_t>(first - graph.nodes.begin())).root();
    const auto between = std::ranges::count_if(graph.cables, [&](const topology::Cable& cable) {
        return !graph.nodes[cable.a.node].is_host() && !graph.nodes[cable.b.node].is_host();
    });
    return "a spanning tree (RSTP), root " + graph.nodes[root & kAddress].name + ", " +
           std::to_string(fabric.blocked_cables().size()) + " of " + std::to_string(between) +
           " cables between switches blocked";
}

base::Result<History> run_spanning_tree(const topology::Graph& graph,
                                        const std::vector<Duration>& delays,
                                        const std::vector<uint64_t>& rates_bps,
                                        const DistributedSettings& settings,
                                        const std::vector<Disturbance>& disturbances) {
    FabricOfBridges fabric(graph, delays, rates_bps, settings);
    History history;
    history.target_of = fabric.target_of();
    history.target_count = fabric.target_count();
    if (!fabric.run_until_settled(Instant{} + patience(settings)))
        return base::Error{"the spanning tree does not settle"};
    history.way = tree_text(graph, fabric);
    history.bring_up = last_of(fabric.writes(), Instant{}) - Instant{};
    // A port that sent many BPDUs during bring-up must be allowed to send again.
    const Duration rest{(settings.bridge.hold_count + 1) * int64_t{1'000'000'000'000}};
    live_through(graph, disturbances, settings, rest, fabric, history);
    return history;
}

}  // namespace

base::Result<History> run_distributed(const topology::Graph& graph,
                                      const std::vector<Duration>& delays,
                                      const std::vector<uint64_t>& rates_bps,
                                      const DistributedSettings& settings,
                                      const std::vector<Disturbance>& disturbances) {
    auto history = settings.protocol == Protocol::bgp
                       ? run_bgp(graph, delays, rates_bps, settings, disturbances)
                       : run_spanning_tree(graph, delays, rates_bps, settings, disturbances);
    if (history) judge_repairs(graph, *history);
    return history;
}

}  // namespace tulle::control
