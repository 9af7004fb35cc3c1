#include "workload/training/costs.h"

namespace tulle::workload {
namespace {

using base::Duration;
using base::uint128_t;

uint64_t divided(uint64_t a, uint64_t b) {
    return (a + b - 1) / b;
}

uint128_t tokens_of(const Layout& layout) {
    return uint128_t{layout.micro_batch} * layout.sequence / layout.context;
}

LayerCost layer_cost(const Model& model, const Layout& layout, const Engine& engine,
                     uint32_t layer) {
    const uint128_t tokens = tokens_of(layout);
    const uint128_t experts_of_token =
        model.has_experts(layer) ? uint128_t{model.experts_of_token} * expert_parameters(model) : 0;
    const uint128_t weights = active_weights(model, layer) - experts_of_token +
                              experts_of_token * engine.expert_load_permille / 1000;
    const uint128_t product = 2 * tokens * weights / layout.tensor;
    const uint128_t square =
        2 * tokens * layout.sequence * attention_products(model) / layout.tensor;
    LayerCost cost;
    cost.attention = engine.time_for(square);
    cost.forward = engine.time_for(product) + cost.attention;
    cost.weight_gradients = engine.time_for(product);
    cost.input_gradients = engine.time_for(product) + 2 * cost.attention;
    if (layout.recompute == Recompute::full) cost.input_gradients += cost.forward;
    cost.has_experts = model.has_experts(layer);
    const uint64_t experts = cost.has_experts ? model.experts * expert_parameters(model) : 0;
    cost.common_parameters = divided(layer_parameters(model, layer) - experts, layout.tensor);
    cost.expert_parameters = divided(experts, uint64_t{layout.tensor} * layout.expert);
    return cost;
}

// Adds the output layer, on the rank that has the last layer.
void add_output(const Model& model, const Layout& layout, const Engine& engine, LayerCost& last) {
    const Duration product =
        engine.time_for(2 * tokens_of(layout) * embedding_parameters(model) / layout.tensor);
    last.forward += product;
    last.input_gradients += product;
    last.weight_gradients += product;
}

}  // namespace

Duration Engine::time_for(uint128_t operations) const {
    const uint32_t permille =
        efficiency_permille != 0 ? efficiency_permille : gpu.training_permille;
    const uint128_t rate = uint128_t{gpu.bf16_gflops} * permille *
                           (gpu.processors - communication_processors);  // 10^6 a second
    const uint128_t scaled = operations * 1'000'000 * gpu.processors;
    return {static_cast<int64_t>((scaled + rate - 1) / rate)};
}

std::vector<std::vector<LayerCost>> part_costs(const Model& model, const Layout& layout,
                                               const Engine& engine, uint32_t parts) {
    std::vector<std::vector<LayerCost>> costs(parts);
    for (uint32_t layer = 0; layer < model.layers; ++layer)
        costs[part_of_layer(layer, model.layers, parts)].push_back(
            layer_cost(model, layout, engine, layer));
    // With chunks of one layer, a part may have only the embedding or the output (layout.h).
    for (auto* ends : {&costs.front(), &costs.back()})
        if (ends->empty()) ends->emplace_back().is_layer = false;
    const uint64_t embedding = divided(embedding_parameters(model), layout.tensor);
    costs.front().front().common_parameters += embedding;
    // GPT uses one matrix for both; if the last stage is not also the first, it has a copy.
    if (!model.is_classic || layout.pipeline > 1)
        costs.back().back().common_parameters += embedding;
    add_output(model, layout, engine, costs.back().back());
    return costs;
}

Duration optimizer_time(uint64_t parameters, const Gpu& gpu) {
    constexpr uint64_t kBytes = 30;
    const uint128_t picoseconds =
        uint128_t{parameters} * kBytes * 1'000'000 / gpu.memory_mb_per_second;
    return {static_cast<int64_t>(picoseconds)};
}

}  // namespace tulle::workload
