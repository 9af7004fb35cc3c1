// Workloads as text, of SimAI and AICB and of ASTRA-sim 1: a line that says how ranks are grouped,
// the number of layers, and a row for each layer with what its forward pass, its gradients of
// inputs and its gradients of weights compute and say (aliyun/SimAI, astra-sim workload/*.cc).
//
// All ranks do the same. What the forward pass and gradients of inputs say blocks; gradients of
// weights are said behind, and awaited at the end, before a layer is updated. Stages of a pipeline
// do their rows at the same time: the file does not say when they talk.
//
// Times are nanoseconds. Chakra's converter takes the same column for microseconds, so the unit can
// be chosen, and is reported.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "traces/trace.h"

namespace tulle::traces {

struct WorkloadOptions {
    uint32_t ranks = 0;      // that there are
    bool is_exact = false;   // the file has to want as many; otherwise the first ones do it
    int64_t unit_ps = 1000;  // of its times
    // ASTRA-sim's all-gather has the size of what one rank brings, SimAI's that of the result.
    bool gathers_shards = false;
};

// Or "FILE:LINE: sentence".
base::Result<Trace> read_workload(std::string_view text, std::string_view file,
                                  const WorkloadOptions& options);

}  // namespace tulle::traces
