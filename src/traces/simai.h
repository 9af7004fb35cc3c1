// Workloads as text, of SimAI and AICB and of ASTRA-sim 1: a line with the parallelism, the number
// of layers, and one row per layer with the computation and communication of its forward pass, its
// input gradients and its weight gradients (aliyun/SimAI, astra-sim workload/*.cc).
//
// All ranks do the same. Communication of the forward pass and of input gradients blocks.
// Communication of weight gradients runs in the background, and ends before the layer is updated.
// Stages of a pipeline execute their rows at the same time, because the file does not say when they
// communicate.
//
// Times are in nanoseconds. Chakra's converter reads the same column as microseconds, so the unit
// can be chosen, and is reported.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "traces/trace.h"

namespace tulle::traces {

struct WorkloadOptions {
    uint32_t ranks = 0;      // available
    bool is_exact = false;   // the file must use all of them; else it uses the first ones
    int64_t unit_ps = 1000;  // of its times
    // The size of an all-gather is one rank's input in ASTRA-sim, and the result in SimAI.
    bool gathers_shards = false;
};

// An error is "FILE:LINE: sentence".
base::Result<Trace> read_workload(std::string_view text, std::string_view file,
                                  const WorkloadOptions& options);

}  // namespace tulle::traces
