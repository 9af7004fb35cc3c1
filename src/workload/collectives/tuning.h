// The library's choices: fills in algorithm, protocol, channels, chunks and software time.
//
// The choice follows NCCL's cost model (cost_model.h). The model's time of a step is split. The
// network's part, which the simulation produces by itself (Machine::NetworkSpeed::latency), is
// subtracted; the rest is software time before a message is posted. A step between neighbours on an
// idle network then takes as long as NCCL computes; more switches, queues and bytes add to it.
// Where the network alone is slower than NCCL's figure, `hosts.reaction` remains for software.
//
// Chunks, slices and buffers are cut as in NCCL, and a channel copies one message after the other.
// One simulated channel stands for all channels of NCCL on a rail.
//
// NCCL has rings, trees, sums in switches (NVLS), and those joined by trees (NVLSTree, here
// two_level with in_switch and between: tree). Other algorithms run when they are requested, with
// the step times of NCCL's rings. PAT, CollNet and symmetric kernels are not modeled.
#pragma once

#include "workload/collectives/collective.h"

namespace tulle::workload {

// The options must be valid, but may be automatic; in the result nothing is automatic. With
// Protocol::bare the algorithm is still chosen and no software time is added.
CollectiveOptions tune(CollectiveOptions options, const Placement& placement,
                       const Machine& machine);

}  // namespace tulle::workload
