// Models by shape, with the parameters and floating point operations that follow from it.
//
// Shapes are as published: Llama 3 in arXiv 2407.21783, GPT-3 as arXiv 2104.04473 trains it,
// Mixtral and Llama 2 in the configuration files of their releases, DeepSeek-V3 in arXiv
// 2412.19437, Nemotron-4 in NVIDIA's dgxc-benchmarking.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/int128.h"

namespace tulle::workload {

struct Model {
    std::string_view name;
    uint32_t layers = 0;
    uint32_t hidden = 0;
    uint32_t feed_forward = 0;  // inner width of dense layers
    uint32_t heads = 0;
    uint32_t kv_heads = 0;
    uint32_t head_size = 0;
    uint32_t vocabulary = 0;
    uint32_t sequence = 0;  // tokens of a training sample
    bool is_gated = true;   // the feed-forward layer has three matrices, otherwise two
    // GPT: biases, learned positions, and one matrix for embedding and output.
    bool is_classic = false;

    // Experts; 0: all layers are dense.
    uint32_t experts = 0;
    uint32_t experts_of_token = 0;
    uint32_t shared_experts = 0;
    uint32_t expert_feed_forward = 0;
    uint32_t dense_layers = 0;  // dense layers before those with experts

    // Latent attention; 0: keys and values are projected directly.
    uint32_t query_rank = 0;
    uint32_t kv_rank = 0;
    uint32_t rope_size = 0;
    uint32_t value_size = 0;

    bool has_experts(uint32_t layer) const { return experts != 0 && layer >= dense_layers; }
};

std::span<const Model> models();
// Null if the name is unknown.
const Model* find_model(std::string_view name);

// Parameters of the parts of a model.
uint64_t expert_parameters(const Model& model);  // of one
// Parameters of a layer, including all of its experts.
uint64_t layer_parameters(const Model& model, uint32_t layer);
uint64_t embedding_parameters(const Model& model);  // of one matrix
uint64_t parameters(const Model& model);
// Parameters that a token uses.
uint64_t active_parameters(const Model& model);

// Weights of a layer that a token is multiplied with.
uint64_t active_weights(const Model& model, uint32_t layer);
// Multiplications of a layer's attention for each pair of tokens: scores and their use.
uint64_t attention_products(const Model& model);

// Bytes of keys and values stored per token, two bytes each.
uint64_t kv_bytes_per_token(const Model& model);

// Floating point operations of a forward and backward pass over one sequence. Each multiplication
// counts as two, attention as a full square; nothing is recomputed.
base::uint128_t flops_per_sequence(const Model& model, uint64_t sequence);

}  // namespace tulle::workload
