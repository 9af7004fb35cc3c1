// What tests of this room need: subnets by name and at random, and tables made wrong on purpose.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "base/random.h"
#include "control/subnet/subnet.h"
#include "topology/spec.h"

namespace tulle::control::testing {

inline topology::Graph graph_of(const std::string& spec) {
    auto graph = topology::build_spec(spec);
    EXPECT_TRUE(graph.ok()) << graph.error().message;
    return std::move(*graph);
}

inline Subnet subnet_of(const topology::Graph& graph, const std::vector<bool>& cable_down = {}) {
    auto owners = assign_lids(graph);
    EXPECT_TRUE(owners.ok());
    auto subnet = Subnet::make(graph, *owners, cable_down);
    EXPECT_TRUE(subnet.ok());
    return std::move(*subnet);
}

inline Subnet subnet_of(const std::string& spec) {
    return subnet_of(graph_of(spec));
}

inline base::RandomStream stream_of(uint64_t seed, uint32_t kind = 0) {
    return base::RandomStream({.seed = seed, .kind = kind, .index = 0});
}

// The seeds of a swarm: `count` from 0 on, or those that TULLE_FIRST_SEED and TULLE_SEEDS ask for.
inline std::vector<uint64_t> seeds_to_try(uint64_t count) {
    const auto number_in = [](const char* variable, uint64_t otherwise) {
        const char* const wanted = std::getenv(variable);
        return wanted == nullptr ? otherwise : std::stoul(wanted);
    };
    std::vector<uint64_t> seeds(number_in("TULLE_SEEDS", count));
    std::iota(seeds.begin(), seeds.end(), number_in("TULLE_FIRST_SEED", 0));
    return seeds;
}

// The same fabric with its nodes, and so its LIDs and ports, in another order.
inline topology::Graph shuffled(const topology::Graph& graph, uint64_t seed) {
    auto random = stream_of(seed, 1);
    std::vector<uint32_t> order(graph.nodes.size());
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    random.shuffle(std::span(order));
    topology::Graph out;
    std::vector<uint32_t> place(order.size());
    for (const uint32_t node : order) {
        topology::Node copy = graph.nodes[node];
        copy.port_count = 0;
        place[node] = out.add(std::move(copy));
    }
    std::vector<topology::Cable> cables = graph.cables;
    random.shuffle(std::span(cables));
    for (const topology::Cable& cable : cables)
        out.connect(place[cable.a.node], place[cable.b.node]);
    return out;
}

// Switches joined by a tree and more cables, parallel ones too; hosts here and there, some of them
// with two ports.
inline topology::Graph random_graph(uint64_t seed) {
    auto random = stream_of(seed);
    topology::Graph graph;
    const auto switches = static_cast<uint32_t>(1 + random.below(24));
    for (uint32_t i = 0; i < switches; ++i)
        graph.add({.name = "switch" + std::to_string(i), .kind = topology::NodeKind::switch_node});
    for (uint32_t i = 1; i < switches; ++i)
        graph.connect(i, static_cast<uint32_t>(random.below(i)));
    const uint64_t more = random.below(2 * switches + 1);
    for (uint64_t i = 0; switches > 1 && i < more; ++i) {
        const auto a = static_cast<uint32_t>(random.below(switches));
        const auto b = static_cast<uint32_t>(random.below(switches));
        if (a != b) graph.connect(a, b);
    }
    const uint64_t hosts = 2 + random.below(2 * switches);
    for (uint64_t i = 0; i < hosts; ++i) {
        const uint32_t host = graph.add({.name = "h" + std::to_string(i)});
        graph.connect(host, static_cast<uint32_t>(random.below(switches)));
        if (random.chance(1, 8)) graph.connect(host, static_cast<uint32_t>(random.below(switches)));
    }
    return graph;
}

// Up to one cable of five is broken; the fabric may fall into pieces.
inline std::vector<bool> random_failures(const topology::Graph& graph, uint64_t seed) {
    auto random = stream_of(seed, 2);
    const uint64_t of_hundred = random.below(21);
    std::vector<bool> down;
    for (size_t i = 0; i < graph.cables.size(); ++i) down.push_back(random.chance(of_hundred, 100));
    return down;
}

}  // namespace tulle::control::testing
