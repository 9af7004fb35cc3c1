#include "workload/expert_layers.h"

#include <fmt/format.h>

#include "base/int128.h"

namespace tulle::workload {
namespace {

// The device number of a GPU, which does one thing at a time. Drives have low numbers.
constexpr uint16_t kGpuDevice = 0xffff;

void compute(JobBuilder& builder, const std::string& name,
             const std::vector<base::Duration>& times) {
    Phase phase;
    phase.name = name;
    phase.collective = Collective::compute;
    builder.begin(std::move(phase));
    for (uint32_t i = 0; i < times.size(); ++i) {
        Task task;
        task.kind = Task::Kind::compute;
        task.duration = times[i];
        task.is_in_turn = true;
        task.channel = kGpuDevice;
        builder.add(task, i, i, {});
    }
}

// The computing times of GPUs, proportional to their tokens.
std::vector<base::Duration> expert_times(const ExpertLayers& layers, const ExpertRoutes& routes,
                                         uint32_t members) {
    const uint64_t average = uint64_t{layers.options.tokens} * layers.options.of_token;
    std::vector<base::Duration> times(members);
    for (uint32_t i = 0; i < members; ++i)
        times[i] = {static_cast<int64_t>(base::uint128_t{routes.load(i)} *
                                         static_cast<uint64_t>(layers.computing.ps) / average)};
    return times;
}

}  // namespace

uint64_t most_tasks(const ExpertLayers& layers, const Placement& placement) {
    // Each of four phases may end with one waiting task per member.
    const uint64_t of_layer =
        2 * most_tasks(layers.options, placement) + 6 * uint64_t{placement.size()};
    return of_layer * layers.layers * layers.micro_batches;
}

uint16_t append_layers(Program& program, const Job& job, const ExpertLayers& layers,
                       const Placement& placement, uint16_t first_channel) {
    uint16_t channel = first_channel;
    for (uint32_t batch = 0; batch < layers.micro_batches; ++batch) {
        ExpertOptions options = layers.options;
        options.seed += batch;
        const ExpertRoutes routes(options, placement);
        const auto experts = expert_times(layers, routes, placement.size());
        const std::vector<base::Duration> attention(placement.size(), layers.attention);
        Job own = job;
        if (layers.micro_batches > 1) own.name = fmt::format("{} {}", job.name, batch + 1);
        JobBuilder builder(program, own, placement, channel);
        for (uint32_t layer = 0; layer < layers.layers; ++layer) {
            const auto name = [&](const char* what) {
                return layer == 0 ? fmt::format("{} {}", own.name, what)
                                  : fmt::format("{} {} #{}", own.name, what, layer + 1);
            };
            if (layers.attention.ps > 0) compute(builder, name("attention"), attention);
            append_dispatch(builder, name("dispatch"), options, routes);
            if (layers.computing.ps > 0) compute(builder, name("compute"), experts);
            append_combine(builder, name("combine"), options, routes);
        }
        builder.end();
        channel = builder.end_channel();
    }
    return channel;
}

}  // namespace tulle::workload
