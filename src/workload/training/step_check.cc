// What does not go together in a step, how large its program is, and what a step takes where
// nothing else takes time.
#include <fmt/format.h>

#include <algorithm>

#include "workload/training/step.h"

namespace tulle::workload {
namespace {

uint64_t saturating_product(uint64_t a, uint64_t b) {
    return b != 0 && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

}  // namespace

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

uint64_t expert_bytes(const StepOptions& options) {
    return tensor_bytes(options.model, options.layout) * options.model.experts_of_token /
           options.layout.tensor;
}

// Messages of replicas are cut into chunks of 512 KiB or more, those of layers too.
uint64_t most_tasks(const StepOptions& options, const StepPlace& place) {
    constexpr uint64_t kLeastChunk = 512 << 10;
    const Layout& layout = options.layout;
    const uint64_t ranks = place.members.size();
    const bool splits_backward = options.schedule == PipelineSchedule::zero_bubble ||
                                 options.schedule == PipelineSchedule::dual;
    const uint64_t slots =
        (splits_backward ? uint64_t{3} : uint64_t{2}) * layout.micro_batches * layout.chunks;
    uint64_t own = 0;  // of a rank
    const uint64_t layers = options.model.layers / layout.pipeline + 1;
    uint64_t most_parameters = 0;
    for (uint32_t stage = 0; stage < layout.pipeline; ++stage)
        most_parameters =
            std::max(most_parameters, rank_parameters(options.model, layout, stage).total());
    const uint64_t rounds = layout.zero == 3 ? 3 * uint64_t{layout.micro_batches} : 2;
    if (layout.replicas() > 1 && !options.repeats_replicas)
        own += saturating_product(rounds, 2 * sizeof(float) * most_parameters / kLeastChunk +
                                              4 * layout.replicas() * layers);
    own += saturating_product(slots, 8 + uint64_t{layout.tensor});
    if (!options.repeats) {
        const uint64_t bytes = 12 * tensor_bytes(options.model, layout) +
                               2 * context_bytes(options.model, layout) + 4 * expert_bytes(options);
        const uint64_t messages =
            bytes / kLeastChunk + 16 * (layout.tensor + layout.context) + 8 * layout.expert;
        own += saturating_product(layers * layout.micro_batches, messages);
    }
    return saturating_product(ranks, own);
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
