// The phases of a run's program as a person measures them: time, and bandwidth as nccl-tests counts
// it, against what the hosts' links allow.
#pragma once

#include <string>
#include <vector>

#include "sim/result.h"
#include "sim/setup.h"

namespace tulle::report {

struct CollectiveFacts {
    std::string name;
    workload::Collective collective = workload::Collective::all_reduce;
    std::string algorithm;
    std::string protocol;       // of the library; empty: bare messages
    uint32_t channels = 0;      // of the library
    bool is_automatic = false;  // the algorithm was chosen, not asked for
    // What the library's cost model says of it, and of the best other way; no name: nothing.
    workload::Estimate predicted;
    workload::Estimate next_best;
    uint64_t bytes = 0;
    uint32_t ranks = 0;
    uint32_t job = 0;
    workload::Purpose purpose = workload::Purpose::general;
    uint64_t messages = 0;
    bool finished = false;
    base::Instant begin{};
    base::Duration time{};             // of one that did not end: as if it ended with the run
    uint64_t algorithm_bandwidth = 0;  // bytes a second; 0 if it did not end
    uint64_t bus_bandwidth = 0;
    // No algorithm could be faster over these links: what has to leave the servers, or the ranks
    // where there is no network inside servers, at the rate of their adapters, headers included.
    base::Duration limit{};
    uint64_t limit_permille = 0;
};

// As Setup::program has the phases.
std::vector<CollectiveFacts> collective_facts(const sim::Setup& setup, const sim::Result& result);

// Whether all phases of a job have ended, and how long it took: to the end of its last one.
struct JobEnd {
    bool finished = false;
    base::Duration time{};
};
JobEnd end_of_job(const sim::Setup& setup, const sim::Result& result,
                  const std::vector<CollectiveFacts>& collectives, uint32_t job);

// How long a task of computing takes on its rank.
base::Duration taken_by(const sim::Setup& setup, const workload::Task& task);

// How it was done, in a few words: "ring LL128".
std::string way_text(const CollectiveFacts& facts);

bool has_bandwidth(workload::Collective collective);
// Among ranks: what bus bandwidth is meant for.
bool is_collective(workload::Collective collective);

}  // namespace tulle::report
