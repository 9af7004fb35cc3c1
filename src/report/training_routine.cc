#include "report/training_routine.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "report/compare/rows.h"
#include "report/facts.h"
#include "report/table.h"
#include "workload/training/routine.h"

namespace tulle::report {
namespace {

using base::Duration;

const CollectiveFacts* phase_of_job(const std::vector<CollectiveFacts>& collectives, uint32_t job) {
    const auto found = std::ranges::find(collectives, job, &CollectiveFacts::job);
    return found == collectives.end() ? nullptr : &*found;
}

StoreFacts store_of(const CollectiveFacts& phase, uint64_t bytes) {
    StoreFacts facts;
    facts.is_there = true;
    facts.finished = phase.finished;
    facts.bytes = bytes;
    facts.stored = phase.time;
    return facts;
}

void add_checkpoint(const CollectiveFacts& phase, base::Instant step_end, TrainingFacts& facts) {
    uint64_t sum = 0;
    uint64_t most = 0;
    for (const uint64_t bytes : workload::checkpoint_bytes(facts.job->options)) {
        sum += bytes;
        most = std::max(most, bytes);
    }
    facts.checkpoint = store_of(phase, sum);
    facts.checkpoint.blocks = facts.job->options.checkpoint.is_blocking
                                  ? std::max(Duration{}, phase.begin + phase.time - step_end)
                                  : workload::copy_time(most);
}

void add_states(const CollectiveFacts& phase, base::Instant step_end, TrainingFacts& facts) {
    StoreFacts& states = facts.states;
    const bool is_first = !states.is_there;
    uint64_t bytes = states.bytes;
    for (const uint64_t own : workload::optimizer_bytes(facts.job->options)) bytes += own;
    const Duration blocks =
        std::max(states.blocks, std::max(Duration{}, phase.begin + phase.time - step_end));
    const bool finished = phase.finished && (is_first || states.finished);
    states = store_of(phase, bytes);
    states.finished = finished;
    states.blocks = blocks;
}

void add_month(TrainingFacts& facts) {
    workload::Failures failures = facts.job->options.failures;
    if (failures.per_million_node_days == 0) return;
    if (facts.checkpoint.is_there && !facts.checkpoint.finished) return;
    const Duration save = facts.checkpoint.is_there ? facts.checkpoint.blocks : failures.save;
    facts.month.is_there = true;
    facts.month.failures_permille = workload::failures_per_month_permille(failures);
    facts.month.training_ppm = workload::training_share_ppm(failures, save);
    failures.interval = std::max(Duration{1}, workload::best_interval(failures, save));
    facts.month.best_interval = failures.interval;
    facts.month.best_ppm = workload::training_share_ppm(failures, save);
}

std::string checkpoint_text(const TrainingFacts& facts) {
    const StoreFacts& saved = facts.checkpoint;
    if (!saved.is_there) return "";
    if (!saved.finished) return "  the checkpoint did not end\n";
    return fmt::format("  a checkpoint of {}: stored in {}{}, blocks for {}\n",
                       base::bytes_to_string(saved.bytes), short_time(saved.stored),
                       facts.job->options.checkpoint.is_blocking ? "" : " beside a step",
                       short_time(saved.blocks));
}

std::string states_text(const StoreFacts& states) {
    if (!states.is_there) return "";
    if (!states.finished) return "  the states of the optimizer were not all stored\n";
    return fmt::format(
        "  states of the optimizer in shared memory, {} to and fro: {} after the step\n",
        base::bytes_to_string(states.bytes), short_time(states.blocks));
}

std::string data_text(const StoreFacts& data) {
    if (!data.is_there) return "";
    if (!data.finished) return "  the data of the next step were not read\n";
    return fmt::format("  data of the next step, {}: read in {}, {} after the step\n",
                       base::bytes_to_string(data.bytes), short_time(data.stored),
                       short_time(data.blocks));
}

// Of 30, in tenths.
std::string days_text(uint64_t ppm) {
    const uint64_t tenths = (ppm * 300 + 500'000) / 1'000'000;
    return fmt::format("{}.{}", tenths / 10, tenths % 10);
}

std::string month_text(const TrainingFacts& facts) {
    if (!facts.month.is_there) return "";
    const workload::Failures& failures = facts.job->options.failures;
    return fmt::format(
        "  a month of 30 days: {} failures of {} servers{}; {} days train ({}) with a checkpoint "
        "each {} and {} to start again; {} days with one each {}\n",
        (facts.month.failures_permille + 500) / 1000, failures.servers,
        failures.source.empty() ? "" : fmt::format(" (rate of {})", failures.source),
        days_text(facts.month.training_ppm), percent_text(facts.month.training_ppm / 1000),
        short_time(failures.interval), short_time(failures.restart),
        days_text(facts.month.best_ppm), short_time(facts.month.best_interval));
}

}  // namespace

// Saving and loading are separate jobs, after that of the step.
void add_routine(const std::vector<CollectiveFacts>& collectives, uint32_t number,
                 base::Instant step_end, TrainingFacts& facts) {
    const workload::StepOptions& options = facts.job->options;
    if (options.layout.optimizer_is_elsewhere)
        for (int i = 0; i < 2; ++i)  // loading and storing
            if (const CollectiveFacts* phase = phase_of_job(collectives, ++number))
                add_states(*phase, step_end, facts);
    if (options.checkpoint.bytes_per_parameter != 0)
        if (const CollectiveFacts* phase = phase_of_job(collectives, ++number))
            add_checkpoint(*phase, step_end, facts);
    if (options.data_bytes != 0)
        if (const CollectiveFacts* phase = phase_of_job(collectives, ++number)) {
            facts.data = store_of(*phase, options.data_bytes * facts.job->ranks.size());
            facts.data.blocks = std::max(Duration{}, facts.data.stored - facts.step);
        }
    add_month(facts);
}

std::string routine_text(const TrainingFacts& facts) {
    return states_text(facts.states) + checkpoint_text(facts) + data_text(facts.data) +
           month_text(facts);
}

}  // namespace tulle::report
