// Traces of PyTorch's profiler (Kineto, in Chrome's JSON): when the kernels of a rank ran on its
// GPU.
//
// All kernels but NCCL's are computation; concurrent kernels count as one interval. A collective
// starts after the kernel that was running when it began. If computation stood still until a
// collective ended, it waits for that collective; if it went on, it does not. Time in which neither
// ran is computation of the processor. The duration of an NCCL kernel is not used, because it
// includes waiting for other ranks; the simulation determines it.
//
// Times are in microseconds. The text is read in one pass, and only kernels are kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "traces/trace.h"

namespace tulle::traces {

class KinetoReader {
public:
    explicit KinetoReader(uint32_t ranks);

    // Adds the next rank from the text of its file. An error is "FILE: byte 12: sentence".
    std::optional<base::Error> add_rank(std::string_view text, const std::string& file);
    // All further ranks repeat the first one, in groups of the same shape.
    std::optional<base::Error> repeat_first();
    Trace take() { return std::move(trace_); }

private:
    friend class KinetoGraph;
    const uint32_t ranks_;
    Trace trace_;
};

}  // namespace tulle::traces
