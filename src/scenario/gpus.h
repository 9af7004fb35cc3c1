// The key `gpus` of a scenario: which hosts have GPUs, which of them share a server, and the
// network inside servers. Each GPU gets a rank, in the order of the hosts; the other hosts get the
// ranks after those.
#pragma once

#include <span>
#include <vector>

#include "scenario/files.h"
#include "scenario/names.h"
#include "scenario/notes.h"
#include "sim/setup.h"
#include "workload/collectives/library.h"
#include "workload/placement.h"

namespace tulle::scenario {

std::span<const KnownKey> gpu_keys();
std::span<const KnownKey> scale_up_keys();
std::span<const KnownKey> slow_keys();

struct Gpus {
    std::vector<workload::Member> members;  // by rank
    std::vector<uint32_t> rank_of;          // by endpoint: the first rank there
    uint32_t per_server = 0;                // 0: servers have different numbers
    uint32_t memory_per_server = 0;  // memory devices of a server, each with a port inside it
    uint32_t first_memory = 0;       // rank of the first one; server by server
    bool scale_up = false;
    bool servers_differ = false;  // some have other settings inside
    bool reduction = false;       // the switches inside servers add up
    workload::Machine machine;    // as a collective library sees it

    uint32_t count() const { return static_cast<uint32_t>(members.size()); }
};

// `map` may be null if the scenario has no `gpus`. Sets ranks and scale_up of the setup, which must
// have its graph and seed.
Gpus read_gpus(const Value* map, const Names& names, const FileReader& files, Notes& notes,
               sim::Setup& setup);

}  // namespace tulle::scenario
