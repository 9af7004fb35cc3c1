// Figures of a training step: time, model FLOP utilisation, tokens per second, and the time of its
// ranks by purpose.
//
// Each rank has one stream of computation. Its time divides into computing, communication of layers
// that wait for it, and other waiting, which is attributed to what the next task of the stream
// waited for last. Of the waiting for other stages, the part that an infinitely fast network would
// also have is the bubble of the pipeline; the rest is exposed.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "report/collectives.h"
#include "workload/training/step.h"

namespace tulle::report {

// The slowest collective of a kind, by its bus bandwidth.
struct SlowestCollective {
    workload::Purpose purpose = workload::Purpose::tensor;
    workload::Collective collective = workload::Collective::all_reduce;
    uint64_t bytes = 0;
    uint32_t ranks = 0;
    base::Duration time{};
    uint64_t bus_bandwidth = 0;  // bytes a second
    std::string way;
    uint64_t count = 0;        // of this kind: simulated, or repeated by each rank
    bool is_repeated = false;  // simulated only once
    bool leaves_server = false;
};

// A checkpoint, or the data of the next step.
struct StoreFacts {
    bool is_there = false;
    bool finished = false;
    uint64_t bytes = 0;       // of all ranks
    base::Duration stored{};  // time that storage took
    base::Duration blocks{};  // time in which training stands still
};

// The share of a month of 30 days that is spent on training.
struct MonthFacts {
    bool is_there = false;
    uint64_t failures_permille = 0;
    uint64_t training_ppm = 0;
    base::Duration best_interval{};
    uint64_t best_ppm = 0;
};

struct TrainingFacts {
    std::string name;  // of the job
    const workload::TrainingJob* job = nullptr;
    bool finished = false;
    base::Duration step{};
    base::Duration ideal{};  // on an infinitely fast network: computing and bubble
    uint64_t mfu_permille = 0;
    uint64_t tokens_per_second = 0;
    // Average of a rank; together they are the step.
    base::Duration computing{};  // the optimizer included
    base::Duration bubble{};
    std::array<base::Duration, workload::kPurposes> exposed{};
    std::vector<SlowestCollective> slowest;
    StoreFacts checkpoint;
    StoreFacts data;
    StoreFacts states;  // of the optimizer, in memory that GPUs share
    MonthFacts month;

    uint64_t permille(base::Duration part) const;
};

std::vector<TrainingFacts> training_facts(const sim::Setup& setup, const sim::Result& result,
                                          const std::vector<CollectiveFacts>& collectives);

// An interval of a rank's stream: a task, or what it waited for before it.
struct Stretch {
    workload::Purpose purpose = workload::Purpose::compute;
    bool is_waiting = false;
    base::Instant begin{};
    base::Instant end{};
};
std::vector<Stretch> stretches_of(const sim::Setup& setup, const sim::Result& result,
                                  const workload::TrainingJob& job, size_t place);

std::string purpose_text(workload::Purpose purpose);            // "sum of gradients"
std::string layout_text(const workload::StepOptions& options);  // "tp 4, pp 4, dp 2, zero 1, ..."
std::string training_text(const std::vector<TrainingFacts>& facts);

}  // namespace tulle::report
