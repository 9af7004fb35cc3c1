// The phases of a run's program as users measure them: time, and bandwidth as nccl-tests defines
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
    bool is_automatic = false;  // the library chose the algorithm
    // Predictions of the library's cost model for it and for the best alternative; without a name
    // there is none.
    workload::Estimate predicted;
    workload::Estimate next_best;
    uint64_t bytes = 0;
    uint32_t ranks = 0;
    uint32_t job = 0;
    workload::Purpose purpose = workload::Purpose::general;
    uint64_t messages = 0;
    bool finished = false;
    base::Instant begin{};
    base::Duration time{};             // if it did not end: up to the end of the run
    uint64_t algorithm_bandwidth = 0;  // bytes per second; 0 if it did not end
    uint64_t bus_bandwidth = 0;
    // No algorithm could be faster over these links: the data that has to leave the servers (or the
    // ranks, without a network inside servers) at the rate of their adapters, headers included.
    base::Duration limit{};
    uint64_t limit_permille = 0;
};

// In the order of Setup::program.
std::vector<CollectiveFacts> collective_facts(const sim::Setup& setup, const sim::Result& result);

// Whether all phases of a job have ended, and the time until the last one ended.
struct JobEnd {
    bool finished = false;
    base::Duration time{};
};
JobEnd end_of_job(const sim::Setup& setup, const sim::Result& result,
                  const std::vector<CollectiveFacts>& collectives, uint32_t job);

// The duration of a compute task on its rank.
base::Duration taken_by(const sim::Setup& setup, const workload::Task& task);

// The algorithm in a few words: "ring LL128".
std::string way_text(const CollectiveFacts& facts);

bool has_bandwidth(workload::Collective collective);
// Whether it is among ranks, for which bus bandwidth is defined.
bool is_collective(workload::Collective collective);

}  // namespace tulle::report
