// Traces of PyTorch's profiler (Kineto, Chrome's JSON): when kernels of one rank ran on its GPU.
//
// What is not a kernel of NCCL is computing; kernels that run at once are one stretch of it. A
// collective begins behind the kernel that ran when it began. Where computing stood still
// until a collective ended, it waits for that collective; where it went on beside it, it does not.
// Time in which neither ran is computing, too: the processor's. How long a kernel of NCCL ran is
// not used, because that contains the waiting for others: the simulation says how long it takes.
//
// Times are microseconds. The text is read in one pass, and only kernels are kept.
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

    // Adds the next rank from the text of its file; or "FILE: byte 12: sentence".
    std::optional<base::Error> add_rank(std::string_view text, const std::string& file);
    // All further ranks do what the first did, in groups of the same shape.
    std::optional<base::Error> repeat_first();
    Trace take() { return std::move(trace_); }

private:
    friend class KinetoGraph;
    const uint32_t ranks_;
    Trace trace_;
};

}  // namespace tulle::traces
