// What a training job does besides its steps: it saves checkpoints, and starts again after
// failures.
#pragma once

#include "workload/training/step.h"

namespace tulle::workload {

// Of each rank, by place in the grid. Ranks that have the same parameters share them out, so that
// together they save each parameter once.
std::vector<uint64_t> checkpoint_bytes(const StepOptions& options);

// The same of the optimizer's states: a copy of the parameter and two moments of four bytes, shared
// out by ZeRO 1 and above.
std::vector<uint64_t> optimizer_bytes(const StepOptions& options);

// What it takes to copy so many bytes from a GPU to its host.
base::Duration copy_time(uint64_t bytes);

// Of the time, what is spent on training, in millionths: (1 - N r (u + i/2)) / (1 + w/i), with N
// servers, r failures of each in a time, u to start again, i from one checkpoint to the next and w
// that each blocks (arXiv 2410.21680, its expected training time ratio).
uint64_t training_share_ppm(const Failures& failures, base::Duration save);
// The interval with the largest share, to first order: the root of 2 w / (N r) (Young, 1974).
base::Duration best_interval(const Failures& failures, base::Duration save);
// Of all servers in 30 days, in thousandths.
uint64_t failures_per_month_permille(const Failures& failures);

}  // namespace tulle::workload
