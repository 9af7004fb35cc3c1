#include "workload/training/routine.h"

#include "base/check.h"

namespace tulle::workload {
namespace {

using base::Duration;
using base::uint128_t;

constexpr uint64_t kDay = 86'400'000'000'000'000;  // picoseconds
constexpr uint64_t kMillion = 1'000'000;

// The square root, rounded down.
uint128_t root(uint128_t value) {
    uint128_t low = 0;
    uint128_t high = uint128_t{1} << 63;
    while (low + 1 < high) {
        const uint128_t middle = (low + high) / 2;
        (middle * middle <= value ? low : high) = middle;
    }
    return low;
}

// By place in the grid: `each` bytes per parameter, which replicas may divide.
std::vector<uint64_t> bytes_of_ranks(const StepOptions& options, uint64_t each, bool is_shared) {
    const Layout& layout = options.layout;
    const Grid grid(layout, options.order);
    const uint64_t holders = is_shared ? layout.replicas() : 1;
    const uint64_t expert_holders = is_shared ? layout.replicas() / layout.expert : 1;
    std::vector<uint64_t> bytes(layout.gpus());
    for (uint32_t stage = 0; stage < layout.pipeline; ++stage) {
        const RankParameters has = rank_parameters(options.model, layout, stage);
        const uint64_t own = (each * has.common + holders - 1) / holders +
                             (each * has.experts + expert_holders - 1) / expert_holders;
        for (uint32_t column = 0; column < grid.columns(); ++column)
            bytes[grid.rank(stage, column)] = own;
    }
    return bytes;
}

}  // namespace

std::vector<uint64_t> checkpoint_bytes(const StepOptions& options) {
    return bytes_of_ranks(options, options.checkpoint.bytes_per_parameter, true);
}

std::vector<uint64_t> optimizer_bytes(const StepOptions& options) {
    return bytes_of_ranks(options, 12, options.layout.zero > 0);
}

Duration copy_time(uint64_t bytes) {
    // Measured between host and GPU on 8 x H200 (ml-engineering, "network").
    constexpr uint64_t kBytesPerSecond = 55'060'000'000;
    return {static_cast<int64_t>(uint128_t{bytes} * kMillion * kMillion / kBytesPerSecond)};
}

uint64_t training_share_ppm(const Failures& failures, Duration save) {
    TULLE_CHECK(failures.interval.ps > 0);
    const auto interval = static_cast<uint64_t>(failures.interval.ps);
    const uint128_t cost_of_one = static_cast<uint64_t>(failures.restart.ps) + interval / 2;
    const uint128_t lost =  // failures a day in millionths, times what one costs, over a day
        uint128_t{failures.servers} * failures.per_million_node_days * cost_of_one / kDay;
    if (lost >= kMillion) return 0;
    return static_cast<uint64_t>((kMillion - lost) * interval /
                                 (interval + static_cast<uint64_t>(save.ps)));
}

Duration best_interval(const Failures& failures, Duration save) {
    const uint128_t between =
        uint128_t{kDay} * kMillion / (uint128_t{failures.servers} * failures.per_million_node_days);
    return {static_cast<int64_t>(root(2 * between * static_cast<uint64_t>(save.ps)))};
}

uint64_t failures_per_month_permille(const Failures& failures) {
    return static_cast<uint64_t>(uint128_t{30} * failures.servers * failures.per_million_node_days /
                                 1000);
}

}  // namespace tulle::workload
