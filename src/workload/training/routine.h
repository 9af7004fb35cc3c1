// Work of a training job besides its steps: it saves checkpoints, and restarts after failures.
#pragma once

#include "workload/training/step.h"

namespace tulle::workload {

// Checkpoint bytes of each rank, by place in the grid. Ranks with the same parameters divide them,
// so that together they save each parameter once.
std::vector<uint64_t> checkpoint_bytes(const StepOptions& options);

// The same for optimizer states: a copy of the parameter and two moments of four bytes each,
// divided by ZeRO 1 and above.
std::vector<uint64_t> optimizer_bytes(const StepOptions& options);

// The time to copy `bytes` from a GPU to its host.
base::Duration copy_time(uint64_t bytes);

// The share of time spent on training, in millionths: (1 - N r (u + i/2)) / (1 + w/i). N is the
// number of servers, r the failure rate of each, u the time to restart, i the time between
// checkpoints, and w the time that each one blocks (arXiv 2410.21680, its expected training time
// ratio).
uint64_t training_share_ppm(const Failures& failures, base::Duration save);
// The interval with the largest share, to first order: sqrt(2 w / (N r)) (Young, 1974).
base::Duration best_interval(const Failures& failures, base::Duration save);
// Failures of all servers in 30 days, in thousandths.
uint64_t failures_per_month_permille(const Failures& failures);

}  // namespace tulle::workload
