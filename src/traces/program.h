// Turns a trace into a job of a program.
//
// Nodes are processed in an order in which all ranks together could execute them: by their start
// time on an infinitely fast network. In that order
//   - the computation of a lane follows the one before it: a GPU does one thing at a time;
//   - a collective waits for the one before it in its group, as in a communicator, and is then
//     simulated as the library would do it;
//   - a message is one message, and costs a launch and a step of the library.
// Which collectives and messages belong together depends only on the order within each rank: by
// dependencies, then by node numbers.
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
    // The algorithm of collectives; unset ones are chosen by the library.
    std::map<workload::Collective, workload::Algorithm> algorithms;
    uint16_t first_channel = 0;
    uint64_t most_tasks = 0;  // limit for the whole program
};

// Adds the job and returns the first unused channel. An error says which nodes do not match.
base::Result<uint16_t> append_trace(workload::Program& program, const workload::Job& job,
                                    const Trace& trace, const TracePlace& place);

}  // namespace tulle::traces
