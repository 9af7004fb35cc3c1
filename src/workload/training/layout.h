// How a model is spread over GPUs, and the results in closed form: parameters, memory and traffic
// of a rank.
//
// Bytes are exact. Formulas: activations arXiv 2205.05198, optimizer states arXiv 1910.02054,
// pipeline bubble arXiv 2104.04473. A value has two bytes, but gradients are summed in four, as in
// Llama 3 (arXiv 2407.21783).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "workload/training/gpu.h"
#include "workload/training/model.h"

namespace tulle::workload {

enum class Recompute : uint8_t { none, selective, full };

struct Layout {
    uint32_t tensor = 1;
    uint32_t pipeline = 1;
    uint32_t context = 1;
    uint32_t data = 1;
    uint32_t expert = 1;  // taken from the ranks of data and context
    uint32_t chunks = 1;  // groups of layers per pipeline rank
    uint32_t zero = 0;    // 0 to 3
    uint32_t micro_batches = 1;
    uint32_t micro_batch = 1;  // sequences
    uint32_t sequence = 0;     // tokens
    bool is_sequence_parallel = true;
    Recompute recompute = Recompute::none;
    bool optimizer_is_elsewhere = false;  // optimizer states are not in GPU memory
    // Micro-batches come from both ends: a stage also holds the part of its mirror stage.
    bool is_dual = false;

    uint64_t gpus() const { return uint64_t{tensor} * pipeline * context * data; }
    // The number of ranks with the same parameters.
    uint64_t replicas() const { return uint64_t{context} * data; }
    uint64_t tokens_per_step() const {
        return uint64_t{data} * micro_batches * micro_batch * sequence;
    }
};

// The first incompatible option, in one sentence.
std::optional<base::Error> check(const Layout& layout, const Model& model);

// The part that a layer belongs to. Where parts are not equal, those at the ends have one layer
// less, the last one first, because they also have the embedding and the output. (arXiv 2407.21783
// takes one layer from either end, which leaves the embedding or output alone in chunks of one
// layer.)
uint32_t part_of_layer(uint32_t layer, uint32_t layers, uint32_t parts);

// The memory of the rank that uses most: usually one of the first stage, which keeps most
// micro-batches, or of the last stage, which has the output layer.
struct Memory {
    uint64_t parameters = 0;  // bytes
    uint64_t gradients = 0;
    uint64_t optimizer = 0;
    uint64_t activations = 0;

    uint64_t total() const { return parameters + gradients + optimizer + activations; }
};

// Parameters of a rank of the stage, before ZeRO divides them. Experts are separate, because they
// have different replicas.
struct RankParameters {
    uint64_t common = 0;
    uint64_t experts = 0;
    uint64_t total() const { return common + experts; }
};
RankParameters rank_parameters(const Model& model, const Layout& layout, uint32_t stage);

Memory memory_of(const Model& model, const Layout& layout);
// Why it does not fit, with the sum; nullopt if it fits.
std::optional<base::Error> check_memory(const Model& model, const Layout& layout, const Gpu& gpu);

// Traffic of a rank, in bytes of the larger buffer of each collective. tensor_bytes(): one
// all-reduce among the ranks of a tensor, or the all-gather or reduce-scatter in its place: the
// activations of a micro-batch. There are four per layer and micro-batch.
uint64_t tensor_bytes(const Model& model, const Layout& layout);
// From one stage to the next, per micro-batch and direction.
uint64_t pipeline_bytes(const Model& model, const Layout& layout);
// Keys and values of a layer that the ranks of a context gather, per micro-batch.
uint64_t context_bytes(const Model& model, const Layout& layout);
// Parameters that replicas gather, and gradients that they sum up.
uint64_t gathered_bytes(const Model& model, const Layout& layout, uint32_t stage);
uint64_t gradient_bytes(const Model& model, const Layout& layout, uint32_t stage);

// The share of a step's computing time that a rank waits at the ends of the pipeline, as a
// fraction: (p - 1) / (v * m).
struct Fraction {
    uint64_t numerator = 0;
    uint64_t denominator = 1;
    bool operator==(const Fraction&) const = default;
};
Fraction bubble(const Layout& layout);

}  // namespace tulle::workload
