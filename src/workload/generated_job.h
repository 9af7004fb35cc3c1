// A job whose phases are generated while they run (schedule.h): phases one after the other, each on
// the same ranks, as a JobBuilder's.
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
    // Of a job that is in the program already.
    GeneratedJob(Program& program, uint32_t job, std::shared_ptr<const Placement> placement);

    // All ranks compute for so long.
    void compute(const std::string& name, base::Duration duration);
    // The collective of a schedule, which repetitions of it may share.
    void append(const std::string& name, const std::shared_ptr<const Schedule>& schedule);

    // The first channel that no message has used.
    uint16_t end_channel() const { return end_channel_; }

private:
    void add(Phase phase, GeneratedPhase generated);

    Program& program_;
    std::shared_ptr<const Placement> placement_;
    uint32_t job_ = 0;
    uint16_t first_channel_ = 0;
    uint16_t end_channel_ = 0;
    std::vector<uint32_t> last_;  // the phase before; none at first
};

}  // namespace tulle::workload
