// Experts of a training step as DeepEP moves their tokens.
#pragma once

#include "workload/training/step.h"

namespace tulle::workload {

// What a dispatch or a combine takes on average, of a layer and micro-batch; both are noted in
// `repeated`, as so often each. `groups` are all that have experts between them.
base::Duration rehearse_deepep(const StepOptions& options, const StepPlace& place,
                               std::vector<Placement> groups, uint64_t times,
                               std::vector<RepeatedCollective>& repeated);

// Tokens of the GPU that has most of them for its experts, over the average, in thousandths.
uint64_t expert_load_permille(const StepOptions& options, const StepPlace& place);

}  // namespace tulle::workload
