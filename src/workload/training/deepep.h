// Experts of a training step, with tokens moved as in DeepEP.
#pragma once

#include "workload/training/step.h"

namespace tulle::workload {

// The average time of a dispatch or a combine, for one layer and micro-batch. Both are added to
// `repeated`, `times` each. Each group in `groups` has all experts between its ranks.
base::Duration rehearse_deepep(const StepOptions& options, const StepPlace& place,
                               std::vector<Placement> groups, uint64_t times,
                               std::vector<RepeatedCollective>& repeated);

// The largest number of tokens of a GPU for its experts, over the average, in thousandths.
uint64_t expert_load_permille(const StepOptions& options, const StepPlace& place);

}  // namespace tulle::workload
