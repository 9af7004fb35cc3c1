// The computing time and memory of a model on a rank that serves it.
//
// A layer takes the longer of two times: its operations at a share of the GPU's peak, and the bytes
// that it reads (weights, and keys and values of the context) at a share of the memory's speed.
// Prompts are bound by the first, answers by the second. The share of the peak is that of training
// (training/gpu.h); it was fitted to training, not to serving. As in training, each new token
// attends to its whole context.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "workload/training/costs.h"

namespace tulle::workload {

struct ServingCosts {
    Model model;
    Engine engine;
    uint32_t memory_permille = 800;  // chosen: of the memory's speed
    uint64_t weight_bytes = 2;       // of a parameter
    uint32_t tensor = 1;             // ranks that share each layer
    uint32_t expert = 1;             // ranks that share the experts; 1: those of `tensor` do
    // Speed of keys and values in shared memory, bytes a second; 0: they are in the GPU's own
    // memory.
    uint64_t kv_rate = 0;

    // The number of ranks with different experts, or different parts of them.
    uint32_t expert_ranks() const { return expert > 1 ? expert : tensor; }
};

// The work of the ranks of a tensor in one step.
struct StepLoad {
    uint64_t tokens = 0;        // new tokens
    base::uint128_t pairs = 0;  // pairs of a new token and one of its context
    uint64_t contexts = 0;      // tokens whose keys and values are read
    uint64_t sequences = 0;     // sequences whose next token is chosen
    uint64_t all_tokens = 0;    // new tokens on all ranks that share the experts
};

base::Duration layer_time(const ServingCosts& costs, uint32_t layer, const StepLoad& load);
// The time of the last layer's choice of tokens.
base::Duration output_time(const ServingCosts& costs, const StepLoad& load);

// Parameters of a rank, in bytes.
uint64_t parameter_bytes(const ServingCosts& costs);
// The expected number of a rank's experts that `tokens` tokens use, in units of 2^-32; tokens
// choose evenly.
uint64_t experts_met(const ServingCosts& costs, uint64_t tokens);

// The number of ranks of a tensor with different keys and values. If there are more ranks than
// heads, some hold copies. Latent attention has one latent vector for all heads, so each rank holds
// it.
uint32_t kv_shards(const Model& model, uint32_t tensor);
// Bytes of keys and values of a token in one layer, two bytes a value.
uint64_t kv_bytes_of_layer(const Model& model);

}  // namespace tulle::workload
