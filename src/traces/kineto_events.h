// Reads the kernels of a Kineto trace.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tulle::traces {

struct Kernel {
    int64_t begin_ps = 0;
    int64_t end_ps = 0;
    uint64_t number = 0;  // of the event in the file, from 0
    bool is_nccl = false;
    // Only for kernels of NCCL.
    std::string collective;
    std::string type;
    uint64_t elements_in = 0;
    uint64_t elements_out = 0;
    std::string group;
    std::string ranks;  // "[0, 1, 2]"
    uint64_t group_size = 0;
    int64_t rank_start = -1;
    int64_t rank_stride = -1;
    int64_t source = -1;
    int64_t destination = -1;
};

struct Recording {
    std::vector<Kernel> kernels;  // sorted by start time
    int64_t rank = -1;            // that was recorded; negative: not known
    int64_t job_ranks = 0;        // of its job; 0: not known
};

// An error is "FILE: byte 12: sentence".
base::Result<Recording> read_recording(std::string_view text, const std::string& file);

}  // namespace tulle::traces
