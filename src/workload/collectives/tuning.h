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
//
// NVLSTree needs switches that add up inside servers (comm->nvlsSupport in src/enqueue.cc), and
// nothing of the network between them: only CollNet, and NVLS through several servers, need SHARP
// there. So on servers of 8 H100 NCCL takes it for many bytes: for 1 GiB on 3,072 servers the model
// says 6.39 ms, and 7.83 ms for a tree. Its messages have no closed form yet (schedule.h). Jobs too
// large to be stored, and jobs with --skip, take the best of the others, and the report names both.
#pragma once

#include "workload/collectives/collective.h"

namespace tulle::workload {

// The options must be valid, but may be automatic; in the result nothing is automatic. With
// Protocol::bare the algorithm is still chosen and no software time is added.
CollectiveOptions tune(CollectiveOptions options, const Placement& placement,
                       const Machine& machine);

}  // namespace tulle::workload
