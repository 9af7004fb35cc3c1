// Scenarios without any trouble, for a cause to be planted into: fabrics with the settings of a
// technology, and work whose messages do not get in each other's way.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "draw.h"
#include "fabric/shares.h"
#include "sim/setup.h"

namespace tulle::causes {

using base::Duration;
using base::Instant;
using fabric::Place;
using swarm::Draw;

enum class Technology : uint8_t { credits, pfc_dcqcn, pfc, lossy };
inline constexpr auto kAnyTechnology = {Technology::credits, Technology::pfc_dcqcn, Technology::pfc,
                                        Technology::lossy};
inline constexpr auto kLossless = {Technology::credits, Technology::pfc_dcqcn, Technology::pfc};
inline constexpr auto kPauses = {Technology::pfc_dcqcn, Technology::pfc};

struct Pair {
    uint32_t source = 0;  // endpoints
    uint32_t destination = 0;
};

inline Duration nanoseconds(uint32_t count) {
    return {int64_t{count} * 1'000};
}

// Links, switches and adapters; the graph and the work are missing.
sim::Setup draw_settings(Draw& draw, std::initializer_list<Technology> technologies);

topology::Graph draw_star(Draw& draw);
// So many hosts on each leaf at least.
topology::Graph draw_leaf_spine(Draw& draw, uint32_t least_spines, uint32_t most_spines,
                                uint32_t least_hosts);
topology::Graph draw_graph(Draw& draw);  // any of them, or a fat tree of three tiers

// Hosts on the same leaf.
std::vector<uint32_t> neighbours_of(const topology::Graph& graph, uint32_t host);
bool are_neighbours(const topology::Graph& graph, uint32_t a, uint32_t b);
uint32_t node_of(const topology::Graph& graph, uint32_t host);
uint32_t host_cable(const topology::Graph& graph, uint32_t host);
uint32_t leaf_of(const topology::Graph& graph, uint32_t host);

Pair draw_pair(Draw& draw, const topology::Graph& graph);
// Of two leaves; there are two at least.
Pair draw_distant_pair(Draw& draw, const topology::Graph& graph);

sim::Flow flow_of(const sim::Setup& setup, Pair pair, uint64_t bytes);
uint64_t draw_bytes(Draw& draw);
// One flow, and often a few small ones of hosts that it has nothing to do with.
Pair add_flows(Draw& draw, sim::Setup& setup, Pair pair, uint64_t bytes);
// A ring of all hosts; a rank is a host. Neighbours in it are the pairs.
void add_ring(Draw& draw, sim::Setup& setup, uint64_t bytes);
// Either of them; a pair whose messages the run waits for.
Pair add_work(Draw& draw, sim::Setup& setup);

// The ports that messages of a pair leave by, as a run finds out. The first is the host's.
std::vector<Place> path_of(const sim::Setup& setup, Pair pair);
// Whether the first flow ends after the program.
bool is_flow_last(const sim::Setup& setup);
// How long a run takes; none if it does not come to a good end.
std::optional<Duration> time_of(const sim::Setup& setup);

}  // namespace tulle::causes
