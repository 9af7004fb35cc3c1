// Well-known fabrics by name. Each builder takes a few numbers and refuses those that make no
// fabric. It lists hosts first, then switches from the leaves upwards. Ports are numbered in the
// order of the cables: at a switch, hosts come before uplinks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "topology/graph.h"

namespace tulle::topology {

// More than anybody has built, so that a typing error gives a message instead of exhausting memory.
inline constexpr uint64_t kMaxHosts = 1'000'000;
inline constexpr uint64_t kMaxSwitches = 1'000'000;
inline constexpr uint64_t kMaxCables = 8'000'000;

// Switches of `k` ports. Three tiers: k pods of k/2 edge switches with k/2 hosts each; host h is on
// edge switch h/(k/2). Two tiers: k leaves with k/2 hosts each. `oversubscription` divides the
// uplinks of each edge switch and the number of switches above, not the hosts.
struct FatTree {
    uint32_t k = 4;
    uint32_t tiers = 3;
    uint32_t oversubscription = 1;
};
base::Result<Graph> build(const FatTree& options);

// Each leaf is connected to each spine by `cables` cables.
struct LeafSpine {
    uint32_t leaves = 2;
    uint32_t spines = 2;
    uint32_t hosts = 2;  // per leaf
    uint32_t cables = 1;
};
base::Result<Graph> build(const LeafSpine& options);

// Servers of `rails` adapters in groups. Rail r of all servers of a group shares one leaf, and
// every leaf is cabled to every spine. Endpoint s * rails + r is rail r of server s. Storage nodes,
// a server of one adapter each, come after them, spread over the leaves.
struct RailOptimised {
    uint32_t servers = 2;
    uint32_t rails = 8;
    uint32_t group = 0;   // servers per group; 0: all in one group
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
    uint32_t leaves = 2;  // per group
    uint32_t spines = 2;  // per group
    uint32_t hosts = 2;   // per leaf
    uint32_t global = 1;  // cables to other groups, per spine
    uint32_t groups = 0;  // 0: spines * global + 1
};
base::Result<Graph> build(const DragonflyPlus& options);

// A grid of switches in any number of dimensions, each closed to a ring. A dimension of two
// switches has one cable between them, not two.
struct Torus {
    std::vector<uint32_t> sizes{4, 4};
    uint32_t hosts = 1;  // per switch
};
base::Result<Graph> build(const Torus& options);

// Hosts around one switch.
struct Star {
    uint32_t hosts = 2;
};
base::Result<Graph> build(const Star& options);

// Two hosts connected by a cable.
struct BackToBack {};
base::Result<Graph> build(const BackToBack& options);

// Switches in a ring, or in a line.
struct Ring {
    uint32_t switches = 3;
    uint32_t hosts = 1;  // per switch
};
base::Result<Graph> build(const Ring& options);

struct Line {
    uint32_t switches = 2;
    uint32_t hosts = 1;  // per switch
};
base::Result<Graph> build(const Line& options);

// The network inside servers: each server has a switch of its own with the ports of its GPUs, and
// no cable leads to another server. Endpoint i * hosts + g is GPU g of server i.
struct Islands {
    uint32_t islands = 1;
    uint32_t hosts = 8;  // per island
};
base::Result<Graph> build(const Islands& options);

}  // namespace tulle::topology
