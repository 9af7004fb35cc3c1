// What reports need to know of a job that was read from another program's trace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tulle::workload {

struct TraceJob {
    std::string format;              // "Chakra execution trace"
    std::string units;               // the units of its times and sizes
    std::vector<std::string> notes;  // what was read differently than its author may expect
    std::vector<uint32_t> ranks;     // rank of the program, by rank of the trace
    // By rank of the trace: the tasks that compute.
    std::vector<std::vector<uint32_t>> streams;
    uint64_t nodes = 0;
    uint64_t collectives = 0;
    uint64_t messages = 0;
};

}  // namespace tulle::workload
