// How a model is spread over GPUs, and what follows from that in closed form: parameters of a rank,
// its memory, and what it says to others.
//
// Bytes are exact. Formulas: activations arXiv 2205.05198, states of the optimizer arXiv
// 1910.02054, the bubble of a pipeline arXiv 2104.04473. A value has two bytes, but gradients are
// added up in four, as Llama 3 does (arXiv 2407.21783).
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
    uint32_t expert = 1;  // of the ranks of data and context
    uint32_t chunks = 1;  // of layers that a rank of the pipeline has, one after the other
    uint32_t zero = 0;    // 0 to 3
    uint32_t micro_batches = 1;
    uint32_t micro_batch = 1;  // sequences
    uint32_t sequence = 0;     // tokens
    bool is_sequence_parallel = true;
    Recompute recompute = Recompute::none;
    bool optimizer_is_elsewhere = false;  // its states are not in the GPU's memory
    // Micro-batches come from both ends: a stage also has the part of the one that mirrors it.
    bool is_dual = false;

    uint64_t gpus() const { return uint64_t{tensor} * pipeline * context * data; }
    // Ranks that have the same parameters.
    uint64_t replicas() const { return uint64_t{context} * data; }
    uint64_t tokens_per_step() const {
        return uint64_t{data} * micro_batches * micro_batch * sequence;
    }
};

// What does not go together, in one sentence.
std::optional<base::Error> check(const Layout& layout, const Model& model);

// Of the rank with most: the first of the pipeline, or the one with the embedding and most layers.
struct Memory {
    uint64_t parameters = 0;  // bytes
    uint64_t gradients = 0;
    uint64_t optimizer = 0;
    uint64_t activations = 0;

    uint64_t total() const { return parameters + gradients + optimizer + activations; }
};

// Parameters that a rank of the stage has, before they are shared out by ZeRO. Experts apart: other
// ranks have the same ones.
struct RankParameters {
    uint64_t common = 0;
    uint64_t experts = 0;
    uint64_t total() const { return common + experts; }
};
RankParameters rank_parameters(const Model& model, const Layout& layout, uint32_t stage);

Memory memory_of(const Model& model, const Layout& layout);
// Why it does not fit, with the sum; none: it does.
std::optional<base::Error> check_memory(const Model& model, const Layout& layout, const Gpu& gpu);

// What a rank says, in bytes of the larger buffer of each collective.
// Of one all-reduce among the ranks of a tensor, or of the all-gather or reduce-scatter in its
// place: the activations of a micro-batch. Four a layer and micro-batch.
uint64_t tensor_bytes(const Model& model, const Layout& layout);
// From one stage to the next, a micro-batch and direction.
uint64_t pipeline_bytes(const Model& model, const Layout& layout);
// Keys and values of a layer that the ranks of a context gather, a micro-batch.
uint64_t context_bytes(const Model& model, const Layout& layout);
// Parameters that replicas gather, and gradients that they add up.
uint64_t gathered_bytes(const Model& model, const Layout& layout, uint32_t stage);
uint64_t gradient_bytes(const Model& model, const Layout& layout, uint32_t stage);

// The share of a step's computing that a rank waits at the ends of the pipeline, as a fraction:
// p - 1 of v * m.
struct Fraction {
    uint64_t numerator = 0;
    uint64_t denominator = 1;
    bool operator==(const Fraction&) const = default;
};
Fraction bubble(const Layout& layout);

}  // namespace tulle::workload
