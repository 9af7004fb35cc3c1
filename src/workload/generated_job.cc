#include "workload/generated_job.h"

#include <algorithm>
#include <utility>

namespace tulle::workload {

GeneratedJob::GeneratedJob(Program& program, const Job& job,
                           std::shared_ptr<const Placement> placement, uint16_t first_channel)
    : program_(program),
      placement_(std::move(placement)),
      job_(static_cast<uint32_t>(program.jobs.size())),
      first_channel_(first_channel),
      end_channel_(first_channel) {
    program_.jobs.push_back(job);
}

GeneratedJob::GeneratedJob(Program& program, uint32_t job,
                           std::shared_ptr<const Placement> placement)
    : program_(program), placement_(std::move(placement)), job_(job) {}

void GeneratedJob::compute(const std::string& name, base::Duration duration) {
    Phase phase;
    phase.name = name;
    phase.collective = Collective::compute;
    GeneratedPhase generated;
    generated.computing = duration;
    add(std::move(phase), std::move(generated));
}

void GeneratedJob::append(const std::string& name,
                          const std::shared_ptr<const Schedule>& schedule) {
    const CollectiveOptions& options = schedule->options();
    GeneratedPhase generated;
    generated.schedule = schedule;
    generated.computing = options.software.launch;
    generated.is_launch = true;
    const bool copies_apart = options.algorithm == Algorithm::two_level &&
                              placement_->largest_server() > 1 &&
                              options.collective != Collective::reduce_scatter;
    const uint32_t per_channel = options.algorithm == Algorithm::tree || copies_apart ? 2 : 1;
    end_channel_ = std::max<uint16_t>(
        end_channel_, static_cast<uint16_t>(first_channel_ + options.channels * per_channel));
    add(phase_of(name, options), std::move(generated));
}

void GeneratedJob::add(Phase phase, GeneratedPhase generated) {
    phase.job = job_;
    phase.ranks = placement_->size();
    generated.phase = static_cast<uint32_t>(program_.phases.size());
    generated.placement = placement_;
    generated.first_channel = first_channel_;
    generated.after = last_;
    program_.phases.push_back(std::move(phase));
    last_ = {program_.add(std::move(generated))};
}

}  // namespace tulle::workload
