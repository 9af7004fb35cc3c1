// A trace as a job of a program.
//
// Nodes are put in an order in which all ranks together could do them, by the time at which they
// would begin on an infinitely fast network. In that order
//   - computing of a lane follows the computing before it: a GPU does one thing at a time;
//   - a collective waits for the one before it in its group, as a communicator does, and is then
//     simulated as the library would do it;
//   - a message is one message, and costs a library's launch and step.
// Which collectives and messages belong together follows from the order in each rank alone, by its
// needs and then by the numbers of its nodes.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/result.h"
#include "traces/trace.h"
#include "workload/collectives/collective.h"

namespace tulle::traces {

struct TracePlace {
    std::vector<workload::Member> members;  // by rank of the trace
    bool scale_up = false;
    workload::Machine machine;
    workload::Protocol protocol = workload::Protocol::automatic;
    // What a collective is done by; others are chosen by the library.
    std::map<workload::Collective, workload::Algorithm> algorithms;
    uint16_t first_channel = 0;
    uint64_t most_tasks = 0;  // of the program in all
};

// Adds the job and returns the first channel that it does not use, or says what does not meet.
base::Result<uint16_t> append_trace(workload::Program& program, const workload::Job& job,
                                    const Trace& trace, const TracePlace& place);

}  // namespace tulle::traces
