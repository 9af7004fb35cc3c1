// What a job from a trace took, how much of it its ranks computed, and its collectives by kind.
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
    uint64_t bus_bandwidth = 0;  // of the slowest, bytes a second
};

struct TraceFacts {
    std::string name;  // of the job
    const workload::TraceJob* job = nullptr;
    bool finished = false;
    base::Duration time{};
    base::Duration ideal{};  // on an infinitely fast network
    // Of a rank, on average; together they are the time.
    base::Duration computing{};
    base::Duration exposed{};
    std::vector<TracedCollectives> kinds;  // those that took longest in all first
};

std::vector<TraceFacts> trace_facts(const sim::Setup& setup, const sim::Result& result,
                                    const std::vector<CollectiveFacts>& collectives);
std::string traces_text(const std::vector<TraceFacts>& facts);

}  // namespace tulle::report
