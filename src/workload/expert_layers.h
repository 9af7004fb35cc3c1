// Layers of experts as a job: attention, dispatch, experts and combine, one layer after the other.
//
// Two micro-batches are two jobs on the same GPUs: a GPU computes for one while the tokens of the
// other are on the network.
#pragma once

#include "workload/experts.h"

namespace tulle::workload {

struct ExpertLayers {
    ExpertOptions options;
    base::Duration attention{};  // of one layer, before its dispatch
    base::Duration computing{};  // of a GPU whose experts get an average number of tokens
    uint32_t layers = 1;
    uint32_t micro_batches = 1;
};

// Returns the first channel that is free.
uint16_t append_layers(Program& program, const Job& job, const ExpertLayers& layers,
                       const Placement& placement, uint16_t first_channel);
// An upper bound on the number of tasks.
uint64_t most_tasks(const ExpertLayers& layers, const Placement& placement);

}  // namespace tulle::workload
