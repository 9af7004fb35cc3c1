// What a collective library finds out about a cluster: generation of GPUs, rates, latencies.
#pragma once

#include <optional>

#include "sim/setup.h"
#include "workload/collectives/library.h"

namespace tulle::scenario {

// The setup's networks and ranks are there. `gpus` of a server, 0 if servers differ; without a
// generation it follows from the rate inside servers.
workload::Machine machine_of(const sim::Setup& setup, uint32_t gpus, uint32_t adapters,
                             std::optional<workload::Generation> generation = std::nullopt);

}  // namespace tulle::scenario
