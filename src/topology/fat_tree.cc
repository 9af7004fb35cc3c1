// The folded Clos of Al-Fares et al. (2008), numbered as htsim and the HPCC files do it: pods are
// contiguous, and aggregation switch j of every pod is cabled to the same k/2 core switches.
#include "topology/builders.h"
#include "topology/parts.h"
#include "topology/text.h"

namespace tulle::topology {
namespace {

std::optional<base::Error> check_options(const FatTree& options) {
    const auto& [k, tiers, oversubscription] = options;
    if (tiers != 2 && tiers != 3)
        return base::Error{text("a fat tree has tiers=2 or tiers=3, not ", tiers)};
    if (k < 2 || k % 2 != 0)
        return base::Error{
            text("the k of a fat tree is the even number of ports of its switches, not ", k)};
    if (oversubscription == 0 || k / 2 % oversubscription != 0)
        return base::Error{text("oversubscription=", oversubscription, " does not divide the ",
                                k / 2, " ways up of a switch with k=", k)};
    return std::nullopt;
}

}  // namespace

base::Result<Graph> build(const FatTree& options) {
    if (auto error = check_options(options)) return *error;
    const uint32_t half = options.k / 2;
    const uint32_t ups = half / options.oversubscription;
    if (options.tiers == 2) return build(LeafSpine{options.k, ups, half, 1});

    const uint64_t hosts = times(options.k, half, half);
    const uint64_t between = times(options.k, half, ups);  // edge to aggregation
    const uint64_t switches = plus(times(options.k, half), times(options.k, ups), times(ups, half));
    const Size size{hosts, switches, plus(hosts, between, between), options.k};
    if (auto error = check_size("a fat tree", size)) return *error;

    Graph graph;
    const uint32_t pods = options.k;
    const uint32_t edges = pods * half;
    const uint32_t host = add_hosts(graph, edges * half);
    const uint32_t edge = add_switches(graph, edges, "leaf", kLeafTier);
    const uint32_t aggregation = add_switches(graph, pods * ups, "spine", kSpineTier);
    const uint32_t core = add_switches(graph, ups * half, "core", kCoreTier);
    attach_hosts(graph, host, edge, edges, half);
    for (uint32_t i = 0; i < edges; ++i)
        for (uint32_t j = 0; j < ups; ++j)
            graph.connect(edge + i, aggregation + i / half * ups + j);
    for (uint32_t i = 0; i < pods * ups; ++i)
        for (uint32_t j = 0; j < half; ++j)
            graph.connect(aggregation + i, core + i % ups * half + j);
    return graph;
}

}  // namespace tulle::topology
