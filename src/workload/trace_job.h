// What is remembered of a job that a file of another program describes, for whoever reports on it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tulle::workload {

struct TraceJob {
    std::string format;              // "Chakra execution trace"
    std::string units;               // in which unit its times and sizes were read
    std::vector<std::string> notes;  // what was read otherwise than its author may expect
    std::vector<uint32_t> ranks;     // of the program, by rank of the trace
    // By rank of the trace: the tasks that compute.
    std::vector<std::vector<uint32_t>> streams;
    uint64_t nodes = 0;
    uint64_t collectives = 0;
    uint64_t messages = 0;
};

}  // namespace tulle::workload
