// What a library would do: fills in algorithm, protocol, channels, chunks and the software's time.
//
// Which way is taken follows NCCL's cost model (cost_model.h). What a step takes there is split:
// the network's part, which the simulation has by itself (Machine::Network::latency), is taken
// away, and the rest is software, spent before a message is posted. A step between neighbours on an
// idle network then takes what NCCL reckons; more switches, queues and bytes come on top. Where the
// network alone is slower than NCCL's figure, `hosts.reaction` is what remains for software.
//
// Chunks, slices and buffers are cut as NCCL cuts them, and a channel copies one message after the
// other. One simulated channel stands for all that NCCL has on a rail.
//
// NCCL knows rings, trees, sums in switches (NVLS) and those joined by trees (NVLSTree, here
// two_level with in_switch and between: tree). Other algorithms are done when they are asked for,
// with the step times of NCCL's rings. Its PAT, CollNet and symmetric kernels are not there.
#pragma once

#include "workload/collectives/collective.h"

namespace tulle::workload {

// The options are in order, but for what is automatic; afterwards nothing is. With
// Protocol::bare the algorithm is still chosen and no software is added.
CollectiveOptions tune(CollectiveOptions options, const Placement& placement,
                       const Machine& machine);

}  // namespace tulle::workload
