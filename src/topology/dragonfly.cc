#include <algorithm>

#include "topology/builders.h"
#include "topology/parts.h"
#include "topology/text.h"

namespace tulle::topology {
namespace {

// The number of groups: as given, or such that each pair shares one cable. Each group must have a
// cable to each other one.
base::Result<uint32_t> group_count(uint64_t asked, uint64_t places) {
    const uint64_t groups = asked == 0 ? plus(places, 1) : asked;
    if (groups > plus(places, 1))
        return base::Error{text(groups, " groups need ", groups - 1,
                                " global cables a group, but there are ", places,
                                "; write groups=", plus(places, 1), " or less")};
    if (groups > kMaxSwitches)
        return base::Error{text(groups,
                                " groups are more than can be built; write "
                                "groups=",
                                kMaxSwitches, " or less")};
    return static_cast<uint32_t>(groups);
}

}  // namespace

base::Result<Graph> build(const Dragonfly& options) {
    const auto& [a, p, h, asked_groups] = options;
    const uint64_t places = times(a, h);
    const auto counted = group_count(asked_groups, places);
    if (!counted) return counted.error();
    const uint32_t groups = *counted;
    const uint64_t hosts = times(groups, a, p);
    const uint64_t local = a > 0 ? times(groups, times(a, a - 1) / 2) : 0;
    const Size size{hosts, times(groups, a), plus(hosts, local, times(groups, places) / 2),
                    plus(a, p, h)};
    if (auto error = check_size("a dragonfly", size)) return *error;

    Graph graph;
    const uint32_t host = add_hosts(graph, groups * a * p);
    const uint32_t router = add_switches(graph, groups * a, "router", kLeafTier);
    attach_hosts(graph, host, router, groups * a, p);
    for (uint32_t group = 0; group < groups; ++group)
        for (uint32_t i = 0; i < a; ++i)
            for (uint32_t j = i + 1; j < a; ++j)
                graph.connect(router + group * a + i, router + group * a + j);
    connect_groups(graph, groups, a * h, [&](uint32_t group, uint32_t place) {
        return router + group * options.a + place / options.h;
    });
    return graph;
}

base::Result<Graph> build(const DragonflyPlus& options) {
    const auto& [leaves, spines, hosts_each, global, asked_groups] = options;
    const uint64_t places = times(spines, global);
    const auto counted = group_count(asked_groups, places);
    if (!counted) return counted.error();
    const uint32_t groups = *counted;
    const uint64_t hosts = times(groups, leaves, hosts_each);
    const Size size{hosts, times(groups, plus(leaves, spines)),
                    plus(hosts, times(groups, leaves, spines), times(groups, places) / 2),
                    std::max(plus(hosts_each, spines), plus(leaves, global))};
    if (auto error = check_size("a dragonfly+", size)) return *error;
    if (spines == 0) return base::Error{"a dragonfly+ needs spines=1 or more in each group"};

    Graph graph;
    const uint32_t host = add_hosts(graph, static_cast<uint32_t>(hosts));
    const uint32_t leaf = add_switches(graph, groups * leaves, "leaf", kLeafTier);
    const uint32_t spine = add_switches(graph, groups * spines, "spine", kSpineTier);
    attach_hosts(graph, host, leaf, groups * leaves, hosts_each);
    for (uint32_t i = 0; i < groups * leaves; ++i)
        for (uint32_t j = 0; j < spines; ++j)
            graph.connect(leaf + i, spine + i / leaves * spines + j);
    connect_groups(graph, groups, spines * global, [&](uint32_t group, uint32_t place) {
        return spine + group * options.spines + place / options.global;
    });
    return graph;
}

}  // namespace tulle::topology
