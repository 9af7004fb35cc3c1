#include "workload/serving/costs.h"

#include <algorithm>
#include <numeric>

namespace tulle::workload {
namespace {

using base::Duration;
using base::uint128_t;

constexpr uint64_t kOne = uint64_t{1} << 32;

Duration read_time(const ServingCosts& costs, uint128_t bytes) {
    const uint128_t speed =
        uint128_t{costs.engine.gpu.memory_mb_per_second} * costs.memory_permille;
    return {static_cast<int64_t>((bytes * 1'000'000'000 + speed - 1) / speed)};
}

// Weights of a layer that all ranks of a tensor share, without the experts.
uint64_t common_weights(const Model& model, uint32_t layer) {
    if (!model.has_experts(layer)) return active_weights(model, layer);
    return active_weights(model, layer) - model.experts_of_token * expert_parameters(model);
}

// base^times in units of 2^-32.
uint64_t power(uint64_t base, uint64_t times) {
    uint64_t result = kOne;
    for (; times != 0; times >>= 1) {
        if ((times & 1) != 0) result = static_cast<uint64_t>(uint128_t{result} * base >> 32);
        base = static_cast<uint64_t>(uint128_t{base} * base >> 32);
    }
    return result;
}

}  // namespace

uint64_t experts_met(const ServingCosts& costs, uint64_t tokens) {
    const Model& model = costs.model;
    if (model.experts == 0) return 0;
    const uint64_t missed = kOne * (model.experts - model.experts_of_token) / model.experts;
    const uint64_t share = kOne - power(missed, tokens);
    return static_cast<uint64_t>(uint128_t{model.experts} * share / costs.expert_ranks());
}

Duration layer_time(const ServingCosts& costs, uint32_t layer, const StepLoad& load) {
    const Model& model = costs.model;
    const uint64_t common = common_weights(model, layer);
    uint128_t operations =
        (2 * uint128_t{load.tokens} * common + 2 * load.pairs * attention_products(model)) /
        costs.tensor;
    uint128_t bytes = uint128_t{common} * costs.weight_bytes / costs.tensor;
    const uint128_t kv =
        uint128_t{load.contexts} * kv_bytes_of_layer(model) / kv_shards(model, costs.tensor);
    if (costs.kv_rate == 0) bytes += kv;
    if (model.has_experts(layer)) {
        const uint64_t tokens = costs.expert > 1 ? load.all_tokens : load.tokens;
        const uint64_t weights = expert_parameters(model);
        operations +=
            2 * uint128_t{tokens} * model.experts_of_token * weights / costs.expert_ranks();
        bytes += uint128_t{weights} * costs.weight_bytes * experts_met(costs, tokens) / kOne;
    }
    Duration time = std::max(costs.engine.time_for(operations), read_time(costs, bytes));
    if (costs.kv_rate != 0)
        time =
            std::max(time, Duration{static_cast<int64_t>(kv * 1'000'000'000'000u / costs.kv_rate)});
    return time;
}

Duration output_time(const ServingCosts& costs, const StepLoad& load) {
    if (load.sequences == 0) return {};
    const uint64_t weights = embedding_parameters(costs.model);
    return std::max(costs.engine.time_for(2 * uint128_t{load.sequences} * weights / costs.tensor),
                    read_time(costs, uint128_t{weights} * costs.weight_bytes / costs.tensor));
}

uint64_t parameter_bytes(const ServingCosts& costs) {
    const Model& model = costs.model;
    uint64_t experts = 0;
    for (uint32_t layer = 0; layer < model.layers; ++layer)
        if (model.has_experts(layer)) experts += model.experts * expert_parameters(model);
    const uint64_t common = parameters(model) - experts;
    return costs.weight_bytes * (common / costs.tensor + experts / costs.expert_ranks());
}

uint32_t kv_shards(const Model& model, uint32_t tensor) {
    return model.kv_rank != 0 ? 1 : std::gcd(tensor, model.kv_heads);
}

uint64_t kv_bytes_of_layer(const Model& model) {
    return kv_bytes_per_token(model) / model.layers;
}

}  // namespace tulle::workload
