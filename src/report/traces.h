// The time of a job from a trace, the computation of its ranks, and its collectives by kind.
#pragma once

#include <string>
#include <vector>

#include "report/collectives.h"
#include "workload/trace_job.h"

namespace tulle::report {

// Collectives of one kind, size and number of ranks.
struct TracedCollectives {
    workload::Collective collective = workload::Collective::all_reduce;
    uint64_t bytes = 0;
    uint32_t ranks = 0;
    uint64_t count = 0;
    base::Duration total{};
    base::Duration fastest{};
    base::Duration slowest{};
    uint64_t bus_bandwidth = 0;  // of the slowest, in bytes per second
};

struct TraceFacts {
    std::string name;  // of the job
    const workload::TraceJob* job = nullptr;
    bool finished = false;
    base::Duration time{};
    base::Duration ideal{};  // on an infinitely fast network
    // Average of a rank; together they are the time.
    base::Duration computing{};
    base::Duration exposed{};
    std::vector<TracedCollectives> kinds;  // by total time, the longest first
};

std::vector<TraceFacts> trace_facts(const sim::Setup& setup, const sim::Result& result,
                                    const std::vector<CollectiveFacts>& collectives);
std::string traces_text(const std::vector<TraceFacts>& facts);

}  // namespace tulle::report
