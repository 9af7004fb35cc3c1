// What does not go together in a step, and what a step takes where nothing else takes time.
#include <fmt/format.h>

#include <algorithm>

#include "workload/training/step.h"

namespace tulle::workload {

Pipeline StepOptions::pipeline() const {
    return {schedule, layout.pipeline, schedule == PipelineSchedule::dual ? 2 : layout.chunks,
            layout.micro_batches};
}

std::optional<base::Error> check(const StepOptions& options) {
    const Layout& layout = options.layout;
    if (auto error = check(layout, options.model)) return error;
    const auto wants = [&](PipelineSchedule schedule) { return options.schedule == schedule; };
    if (wants(PipelineSchedule::interleaved) != (layout.chunks > 1))
        return base::Error{layout.chunks > 1 ? "virtual goes with schedule: interleaved"
                                             : "schedule: interleaved needs virtual, 2 at least"};
    if (layout.chunks > 1 && layout.pipeline == 1)
        return base::Error{"virtual needs a pipeline; write pp: 2 or more"};
    if (!wants(PipelineSchedule::dual)) return std::nullopt;
    if (layout.pipeline % 2 != 0)
        return base::Error{
            fmt::format("schedule: dualpipe needs an even pp, not {}", layout.pipeline)};
    if (layout.micro_batches % 2 != 0 || layout.micro_batches < 2 * layout.pipeline)
        return base::Error{fmt::format(
            "schedule: dualpipe needs an even number of micro_batches, twice pp at least: {}",
            2 * layout.pipeline)};
    return std::nullopt;
}

std::vector<base::Duration> ideal_ends(const Program& program, uint32_t job, uint32_t ranks) {
    std::vector<int64_t> end(program.size());
    std::vector<base::Duration> last(ranks);
    for (uint32_t i = 0; i < program.size(); ++i) {
        const Task& task = program[i];
        if (program.phases[task.phase].job != job) continue;
        for (const uint32_t need : program.needs(i)) end[i] = std::max(end[i], end[need]);
        if (task.kind != Task::Kind::compute) continue;
        if (!task.is_launch) end[i] += task.duration.ps;
        last[task.rank] = std::max(last[task.rank], base::Duration{end[i]});
    }
    return last;
}

}  // namespace tulle::workload
