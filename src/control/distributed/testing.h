// What tests of both protocols need: fabrics at random, what breaks in them, and their history.
#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <utility>
#include <vector>

#include "control/distributed/distributed.h"
#include "control/subnet/testing.h"

namespace tulle::control::testing {

using base::Duration;
using base::Instant;
using Kind = Disturbance::Kind;

inline constexpr Duration kMicrosecond{1'000'000};
inline constexpr Duration kMillisecond{1'000'000'000};
inline constexpr Duration kWholeSecond{1'000'000'000'000};

inline uint32_t node_named(const topology::Graph& graph, std::string_view name) {
    for (uint32_t i = 0; i < graph.nodes.size(); ++i)
        if (graph.nodes[i].name == name) return i;
    ADD_FAILURE() << "no node " << name;
    return 0;
}

inline uint32_t cable_between(const topology::Graph& graph, std::string_view one,
                              std::string_view other) {
    const uint32_t a = node_named(graph, one);
    const uint32_t b = node_named(graph, other);
    for (uint32_t i = 0; i < graph.cables.size(); ++i) {
        const topology::Cable& cable = graph.cables[i];
        if ((cable.a.node == a && cable.b.node == b) || (cable.a.node == b && cable.b.node == a))
            return i;
    }
    ADD_FAILURE() << "no cable between " << one << " and " << other;
    return 0;
}

inline std::vector<Duration> delays_of(const topology::Graph& graph) {
    return std::vector<Duration>(graph.cables.size(), Duration{135'000});
}

inline std::vector<uint64_t> rates_of(const topology::Graph& graph) {
    return std::vector<uint64_t>(graph.cables.size(), 100'000'000'000);
}

inline History history_of(const topology::Graph& graph, std::vector<Disturbance> disturbances,
                          DistributedSettings settings = {}) {
    auto history =
        run_distributed(graph, delays_of(graph), rates_of(graph), settings, disturbances);
    EXPECT_TRUE(history.ok());
    return std::move(*history);
}

// Switches joined by a tree and more cables, a host or two on each.
inline topology::Graph random_fabric(uint64_t seed) {
    auto random = stream_of(seed, 3);
    topology::Graph graph;
    const uint64_t switches = 2 + random.below(9);
    const auto add = [&](std::string name, topology::NodeKind kind) {
        topology::Node node;
        node.name = std::move(name);
        node.kind = kind;
        return graph.add(std::move(node));
    };
    for (uint64_t i = 0; i < switches; ++i)
        add("s" + std::to_string(i), topology::NodeKind::switch_node);
    for (uint32_t i = 1; i < switches; ++i)
        graph.connect(i, static_cast<uint32_t>(random.below(i)));
    for (uint64_t i = random.below(2 * switches); i > 0; --i) {
        const auto a = static_cast<uint32_t>(random.below(switches));
        const auto b = static_cast<uint32_t>(random.below(switches));
        if (a != b) graph.connect(a, b);
    }
    for (uint32_t i = 0; i < switches; ++i)
        for (uint64_t h = random.below(3) + (i == 0); h > 0; --h)
            graph.connect(add("h" + std::to_string(graph.nodes.size()), topology::NodeKind::host),
                          i);
    return graph;
}

// Cables and switches go and come back, faster than routes settle.
inline std::vector<Disturbance> random_disturbances(const topology::Graph& graph, uint64_t seed) {
    auto random = stream_of(seed, 4);
    std::vector<Disturbance> all;
    Instant at = Instant{} + kMillisecond;
    std::vector<bool> cable_down(graph.cables.size());
    std::vector<bool> node_down(graph.nodes.size());
    for (uint64_t i = 1 + random.below(12); i > 0; --i) {
        at = at + Duration{static_cast<int64_t>(random.below(2'000'000'000))};
        if (random.chance(1, 4)) {
            const auto node = static_cast<uint32_t>(random.below(graph.nodes.size()));
            if (graph.nodes[node].is_host()) continue;
            node_down[node] = !node_down[node];
            all.push_back({node_down[node] ? Kind::switch_down : Kind::switch_up, at, node});
        } else {
            const auto cable = static_cast<uint32_t>(random.below(graph.cables.size()));
            cable_down[cable] = !cable_down[cable];
            all.push_back({cable_down[cable] ? Kind::cable_down : Kind::cable_up, at, cable});
        }
    }
    return all;
}

}  // namespace tulle::control::testing
