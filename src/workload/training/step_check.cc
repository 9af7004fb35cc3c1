// Checks of a step's options, the size of its program, and its time if only computing takes time.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

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

std::vector<uint32_t> folded_replicas(const StepOptions& options, const StepPlace& place) {
    const Layout& layout = options.layout;
    const auto replicas = static_cast<uint32_t>(layout.replicas());
    std::vector<uint32_t> same(replicas);
    std::iota(same.begin(), same.end(), 0);
    if (!options.folds_replicas || !options.repeats || !options.repeats_replicas ||
        !options.repeats_messages || !place.way_between)
        return same;
    const Grid grid(layout, options.order);
    const auto member = [&](uint32_t stage, uint32_t replica, uint32_t tensor) {
        return place.members[grid.rank(stage, replica * layout.tensor + tensor)];
    };
    std::map<std::vector<uint64_t>, uint32_t> known;
    for (uint32_t replica = 0; replica < replicas; ++replica) {
        std::vector<uint64_t> ways;
        const auto add = [&](const Member& from, const Member& to) {
            const bool is_up = tier_between(from, to, place.scale_up) == Tier::scale_up;
            ways.push_back(is_up ? 0 : place.way_between(from.rank, to.rank));
        };
        for (uint32_t stage = 0; stage < layout.pipeline; ++stage)
            for (uint32_t tensor = 0; tensor < layout.tensor; ++tensor) {
                const Member from = member(stage, replica, tensor);
                const uint32_t next = (stage + 1) % layout.pipeline;
                if (next != stage) add(from, member(next, replica, tensor));
                for (uint32_t other = 0; other < layout.tensor; ++other)
                    if (other != tensor) add(from, member(stage, replica, other));
            }
        same[replica] = known.try_emplace(std::move(ways), replica).first->second;
    }
    return same;
}

uint64_t pipeline_bytes_of_all(const StepOptions& options) {
    const Layout& layout = options.layout;
    const uint64_t borders = options.pipeline().parts() - 1;
    const uint64_t batches = layout.micro_batches * layout.tensor * layout.replicas();
    return saturating_product(2 * borders * batches, pipeline_bytes(options.model, layout));
}

// Messages of replicas and of layers are cut into chunks of at least 512 KiB.
uint64_t most_tasks(const StepOptions& options, const StepPlace& place) {
    constexpr uint64_t kLeastChunk = 512 << 10;
    const Layout& layout = options.layout;
    const std::vector<uint32_t> replicas = folded_replicas(options, place);
    const std::set<uint32_t> different(replicas.begin(), replicas.end());
    const uint64_t ranks = uint64_t{layout.tensor} * layout.pipeline * different.size();
    const bool splits_backward = options.schedule == PipelineSchedule::zero_bubble ||
                                 options.schedule == PipelineSchedule::dual;
    const uint64_t slots =
        (splits_backward ? uint64_t{3} : uint64_t{2}) * layout.micro_batches * layout.chunks;
    uint64_t own = 0;  // tasks of one rank
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
