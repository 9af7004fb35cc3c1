// Fabrics by their well-known names. Each builder takes a few numbers, refuses those that make no
// fabric, and lists hosts first, then switches from the leaves upwards; ports are numbered in the
// order of the cables, hosts of a switch before its way up.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "topology/graph.h"

namespace tulle::topology {

// More than anybody has built, so a slip of the finger is a sentence and not an empty memory.
inline constexpr uint64_t kMaxHosts = 1'000'000;
inline constexpr uint64_t kMaxSwitches = 1'000'000;
inline constexpr uint64_t kMaxCables = 8'000'000;

// Switches of `k` ports. Three tiers: k pods of k/2 edge switches with k/2 hosts each; host h hangs
// on edge switch h/(k/2). Two tiers: k leaves with k/2 hosts each. `oversubscription` divides the
// ways up from each edge switch, and the switches above with them, not the hosts.
struct FatTree {
    uint32_t k = 4;
    uint32_t tiers = 3;
    uint32_t oversubscription = 1;
};
base::Result<Graph> build(const FatTree& options);

// Every leaf to every spine, by `cables` cables each.
struct LeafSpine {
    uint32_t leaves = 2;
    uint32_t spines = 2;
    uint32_t hosts = 2;  // a leaf
    uint32_t cables = 1;
};
base::Result<Graph> build(const LeafSpine& options);

// Servers of `rails` adapters in groups. Rail r of all servers of a group shares one leaf, and
// every leaf is cabled to every spine. Endpoint s * rails + r is rail r of server s. Storage nodes,
// a server of one adapter each, come after them, spread over the leaves.
struct RailOptimised {
    uint32_t servers = 2;
    uint32_t rails = 8;
    uint32_t group = 0;   // servers a group; 0: all are one group
    uint32_t spines = 0;  // 0: as many as a leaf has servers
    uint32_t cables = 1;
    uint32_t storage = 0;
};
base::Result<Graph> build(const RailOptimised& options);

// Kim, Dally, Scott and Abts, 2008: groups of `a` routers, all cabled to one another; each router
// has p hosts and h cables to other groups. Pairs of groups share the global cables evenly.
struct Dragonfly {
    uint32_t a = 4;
    uint32_t p = 2;
    uint32_t h = 2;
    uint32_t groups = 0;  // 0: a * h + 1, one cable for each pair of groups
};
base::Result<Graph> build(const Dragonfly& options);

// Shpiner et al., 2017: a group is a leaf-spine fabric, and global cables leave from its spines.
struct DragonflyPlus {
    uint32_t leaves = 2;  // a group
    uint32_t spines = 2;  // a group
    uint32_t hosts = 2;   // a leaf
    uint32_t global = 1;  // cables to other groups, a spine
    uint32_t groups = 0;  // 0: spines * global + 1
};
base::Result<Graph> build(const DragonflyPlus& options);

// A grid of switches in any number of dimensions, each closed to a ring. A dimension of two has one
// cable, not two between the same switches.
struct Torus {
    std::vector<uint32_t> sizes{4, 4};
    uint32_t hosts = 1;  // a switch
};
base::Result<Graph> build(const Torus& options);

// Hosts around one switch.
struct Star {
    uint32_t hosts = 2;
};
base::Result<Graph> build(const Star& options);

// Two hosts and a cable.
struct BackToBack {};
base::Result<Graph> build(const BackToBack& options);

// Switches in a ring, or in a line that is not closed.
struct Ring {
    uint32_t switches = 3;
    uint32_t hosts = 1;  // a switch
};
base::Result<Graph> build(const Ring& options);

struct Line {
    uint32_t switches = 2;
    uint32_t hosts = 1;  // a switch
};
base::Result<Graph> build(const Line& options);

// The network inside servers: each has a switch of its own with the ports of its GPUs around it,
// and none leads to another. Endpoint i * hosts + g is GPU g of server i.
struct Islands {
    uint32_t islands = 1;
    uint32_t hosts = 8;  // an island
};
base::Result<Graph> build(const Islands& options);

}  // namespace tulle::topology
