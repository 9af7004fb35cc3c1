// A collective library's view of a cluster: generation of GPUs, rates, latencies.
#pragma once

#include <optional>

#include "sim/setup.h"
#include "workload/collectives/library.h"

namespace tulle::scenario {

// The setup must have its networks and ranks. `gpus` is the number in a server, 0 if servers
// differ. Without a generation, the rate inside servers determines it.
workload::Machine machine_of(const sim::Setup& setup, uint32_t gpus, uint32_t adapters,
                             std::optional<workload::Generation> generation = std::nullopt);

}  // namespace tulle::scenario
