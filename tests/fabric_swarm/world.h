// What a seed makes: a fabric, its settings, hosts, work and faults, as one sim::Setup.
#pragma once

#include "draw.h"
#include "sim/setup.h"

namespace tulle::fabric_swarm {

using swarm::Draw;

enum class Drawer : uint32_t {
    graph = 0x5b00,
    cables,
    links,
    loss,
    nodes,
    marks,
    hosts,
    congestion,
    flows,
    paths,
    faults,
    rest,
    program,
    ranks,
    islands,
    jobs,
    delivery,
    datagrams,
    telemetry,
    detours,
    loads,
    tenants,
    sums,
};

sim::Setup draw_setup(uint64_t seed);

// Its parts, in this order.
topology::Graph draw_graph(uint64_t seed);
void draw_fabric(uint64_t seed, sim::Setup& setup);
void draw_hosts(uint64_t seed, sim::Setup& setup);
void draw_work(uint64_t seed, sim::Setup& setup);
// A part of the seeds has one, besides the flows.
void draw_program(uint64_t seed, sim::Setup& setup);
void draw_faults(uint64_t seed, sim::Setup& setup);

}  // namespace tulle::fabric_swarm
