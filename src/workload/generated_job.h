// A job whose phases are generated while they run (schedule.h). As in a JobBuilder, phases follow
// one another, each on the same ranks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "workload/schedule.h"

namespace tulle::workload {

class GeneratedJob {
public:
    GeneratedJob(Program& program, const Job& job, std::shared_ptr<const Placement> placement,
                 uint16_t first_channel = 0);
    // Continues a job that is in the program already.
    GeneratedJob(Program& program, uint32_t job, std::shared_ptr<const Placement> placement);

    // Adds a phase in which all ranks compute for `duration`.
    void compute(const std::string& name, base::Duration duration);
    // Adds the collective of a schedule. Repetitions may share one schedule.
    void append(const std::string& name, const std::shared_ptr<const Schedule>& schedule);

    // The first unused channel.
    uint16_t end_channel() const { return end_channel_; }

private:
    void add(Phase phase, GeneratedPhase generated);

    Program& program_;
    std::shared_ptr<const Placement> placement_;
    uint32_t job_ = 0;
    uint16_t first_channel_ = 0;
    uint16_t end_channel_ = 0;
    std::vector<uint32_t> last_;  // indices of the previous phases; empty at first
};

}  // namespace tulle::workload
