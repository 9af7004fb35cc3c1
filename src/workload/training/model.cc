#include "workload/training/model.h"

#include <algorithm>
#include <array>

namespace tulle::workload {
namespace {

constexpr std::array kModels = {
    Model{.name = "gpt3-175b",
          .layers = 96,
          .hidden = 12288,
          .feed_forward = 49152,
          .heads = 96,
          .kv_heads = 96,
          .head_size = 128,
          .vocabulary = 51200,
          .sequence = 2048,
          .is_gated = false,
          .is_classic = true},
    Model{.name = "llama2-70b",
          .layers = 80,
          .hidden = 8192,
          .feed_forward = 28672,
          .heads = 64,
          .kv_heads = 8,
          .head_size = 128,
          .vocabulary = 32000,
          .sequence = 4096},
    Model{.name = "llama3-8b",
          .layers = 32,
          .hidden = 4096,
          .feed_forward = 14336,
          .heads = 32,
          .kv_heads = 8,
          .head_size = 128,
          .vocabulary = 128256,
          .sequence = 8192},
    Model{.name = "llama3-70b",
          .layers = 80,
          .hidden = 8192,
          .feed_forward = 28672,
          .heads = 64,
          .kv_heads = 8,
          .head_size = 128,
          .vocabulary = 128256,
          .sequence = 8192},
    Model{.name = "llama3-405b",
          .layers = 126,
          .hidden = 16384,
          .feed_forward = 53248,
          .heads = 128,
          .kv_heads = 8,
          .head_size = 128,
          .vocabulary = 128256,
          .sequence = 8192},
    Model{.name = "mixtral-8x7b",
          .layers = 32,
          .hidden = 4096,
          .feed_forward = 14336,
          .heads = 32,
          .kv_heads = 8,
          .head_size = 128,
          .vocabulary = 32000,
          .sequence = 4096,
          .experts = 8,
          .experts_of_token = 2,
          .expert_feed_forward = 14336},
    Model{.name = "deepseek-v3",
          .layers = 61,
          .hidden = 7168,
          .feed_forward = 18432,
          .heads = 128,
          .kv_heads = 128,
          .head_size = 128,
          .vocabulary = 129280,
          .sequence = 4096,
          .experts = 256,
          .experts_of_token = 8,
          .shared_experts = 1,
          .expert_feed_forward = 2048,
          .dense_layers = 3,
          .query_rank = 1536,
          .kv_rank = 512,
          .rope_size = 64,
          .value_size = 128},
    Model{.name = "nemotron4-15b",
          .layers = 32,
          .hidden = 6144,
          .feed_forward = 24576,
          .heads = 48,
          .kv_heads = 8,
          .head_size = 128,
          .vocabulary = 256000,
          .sequence = 4096,
          .is_gated = false},
    Model{.name = "nemotron4-340b",
          .layers = 96,
          .hidden = 18432,
          .feed_forward = 73728,
          .heads = 96,
          .kv_heads = 8,
          .head_size = 192,
          .vocabulary = 256000,
          .sequence = 4096,
          .is_gated = false},
};

uint64_t times(uint64_t a, uint64_t b) {
    return a * b;
}

uint64_t matrices(const Model& model) {
    return model.is_gated ? 3 : 2;
}

// Weights of the projections, which are multiplied with each token.
uint64_t attention_weights(const Model& model) {
    const uint64_t h = model.hidden;
    const uint64_t a = model.heads;
    if (model.kv_rank == 0) return h * model.head_size * (2 * a + 2 * uint64_t{model.kv_heads});
    const uint64_t key = model.head_size + model.rope_size;
    return h * model.query_rank + model.query_rank * a * key +
           h * (model.kv_rank + model.rope_size) +
           model.kv_rank * a * (model.head_size + model.value_size) + a * model.value_size * h;
}

uint64_t dense_weights(const Model& model) {
    return matrices(model) * times(model.hidden, model.feed_forward);
}

// Norms and biases: parameters that are not in a matrix product.
uint64_t small_parameters(const Model& model) {
    const uint64_t h = model.hidden;
    // GPT: two norms with a bias, and biases of q, k, v, the projection and both matrices.
    if (model.is_classic) return 13 * h;
    return 2 * h + model.query_rank + model.kv_rank;
}

}  // namespace

std::span<const Model> models() {
    return kModels;
}

const Model* find_model(std::string_view name) {
    const auto found = std::ranges::find(kModels, name, &Model::name);
    return found == kModels.end() ? nullptr : &*found;
}

uint64_t expert_parameters(const Model& model) {
    return matrices(model) * times(model.hidden, model.expert_feed_forward);
}

uint64_t layer_parameters(const Model& model, uint32_t layer) {
    const uint64_t common = attention_weights(model) + small_parameters(model);
    if (!model.has_experts(layer)) return common + dense_weights(model);
    const uint64_t experts = uint64_t{model.experts} + model.shared_experts;
    return common + experts * expert_parameters(model) + times(model.hidden, model.experts);
}

uint64_t active_weights(const Model& model, uint32_t layer) {
    if (!model.has_experts(layer)) return attention_weights(model) + dense_weights(model);
    const uint64_t experts = uint64_t{model.experts_of_token} + model.shared_experts;
    return attention_weights(model) + experts * expert_parameters(model) +
           times(model.hidden, model.experts);
}

uint64_t attention_products(const Model& model) {
    const uint64_t value = model.value_size != 0 ? model.value_size : model.head_size;
    return model.heads * (model.head_size + model.rope_size + value);
}

uint64_t embedding_parameters(const Model& model) {
    return times(model.hidden, model.vocabulary);
}

uint64_t parameters(const Model& model) {
    uint64_t sum = 0;
    for (uint32_t layer = 0; layer < model.layers; ++layer) sum += layer_parameters(model, layer);
    if (model.is_classic)
        return sum + embedding_parameters(model) + times(model.hidden, model.sequence);
    return sum + 2 * embedding_parameters(model) + model.hidden;
}

uint64_t active_parameters(const Model& model) {
    uint64_t sum = parameters(model);
    const uint64_t idle = uint64_t{model.experts} - model.experts_of_token;
    for (uint32_t layer = 0; layer < model.layers; ++layer)
        if (model.has_experts(layer)) sum -= idle * expert_parameters(model);
    return sum;
}

uint64_t kv_bytes_per_token(const Model& model) {
    const uint64_t values = model.kv_rank != 0 ? uint64_t{model.kv_rank} + model.rope_size
                                               : 2 * times(model.kv_heads, model.head_size);
    return 2 * values * model.layers;
}

// The forward pass has two operations per weight and token, the backward pass twice that. Scores
// and their use are two products of `sequence` by `sequence` for each head.
base::uint128_t flops_per_sequence(const Model& model, uint64_t sequence) {
    base::uint128_t weights = embedding_parameters(model);
    for (uint32_t layer = 0; layer < model.layers; ++layer) weights += active_weights(model, layer);
    const base::uint128_t squares =
        base::uint128_t{model.layers} * attention_products(model) * sequence * sequence;
    return 6 * weights * sequence + 6 * squares;
}

}  // namespace tulle::workload
