#include "workload/training/layout.h"

#include <fmt/format.h>

#include <algorithm>

namespace tulle::workload {
namespace {

constexpr uint64_t kValueBytes = 2;
constexpr uint64_t kGradientBytes = 4;
constexpr uint64_t kOptimizerBytes =
    12;  // a copy of the parameter and two moments, four bytes each

uint64_t divided(uint64_t a, uint64_t b) {
    return (a + b - 1) / b;
}

// Layers of a stage: chunks of all stages take turns.
bool is_of_stage(uint32_t layer, uint32_t stage, const Model& model, const Layout& layout) {
    const uint32_t parts = layout.pipeline * layout.chunks;
    return uint64_t{layer} * parts / model.layers % layout.pipeline == stage;
}

uint32_t layers_of(uint32_t stage, const Model& model, const Layout& layout) {
    uint32_t count = 0;
    for (uint32_t layer = 0; layer < model.layers; ++layer)
        count += is_of_stage(layer, stage, model, layout) ? 1 : 0;
    return count;
}

uint64_t tokens_of_rank(const Layout& layout) {
    return uint64_t{layout.micro_batch} * layout.sequence / layout.context;
}

// Of one layer and micro-batch: 34 bytes a token and unit of the hidden layer, and five a head and
// pair of tokens unless attention is recomputed. The 34 are GPT's, whose feed-forward layer is four
// times as wide; they stand for other models too.
uint64_t activations_of_layer(const Model& model, const Layout& layout) {
    const uint64_t units = tokens_of_rank(layout) * model.hidden;
    const uint64_t pairs =
        layout.recompute == Recompute::none
            ? 5 * uint64_t{model.heads} * tokens_of_rank(layout) * layout.sequence
            : 0;
    // What is kept is the input of the layer, of which a rank has a part with sequence parallelism.
    if (layout.recompute == Recompute::full)
        return layout.is_sequence_parallel ? divided(2 * units, layout.tensor) : 2 * units;
    const uint64_t split = layout.is_sequence_parallel ? 34 : 24;
    const uint64_t whole = layout.is_sequence_parallel ? 0 : 10;
    return whole * units + (split * units + pairs) / layout.tensor;
}

// Micro-batches whose activations the first stage keeps, in layers of a micro-batch: a pipeline
// that is full, and with chunks the first ones of the next round (arXiv 2104.04473).
uint64_t layers_kept(const Model& model, const Layout& layout) {
    const uint64_t layers = layers_of(0, model, layout);
    if (layout.is_dual) return layers * (layout.pipeline + 1);
    if (layout.chunks == 1) return layers * std::min(layout.pipeline, layout.micro_batches);
    const uint64_t chunks = uint64_t{layout.pipeline} * layout.chunks + layout.pipeline - 1;
    const uint64_t most = uint64_t{layout.chunks} * layout.micro_batches;
    return divided(layers * std::min(chunks, most), layout.chunks);
}

std::string gigabytes(uint64_t bytes) {
    const uint64_t tenths = (bytes + 50'000'000) / 100'000'000;
    return fmt::format("{}.{} GB", tenths / 10, tenths % 10);
}

}  // namespace

std::optional<base::Error> check(const Layout& layout, const Model& model) {
    const auto divides = [](uint64_t a, uint64_t b) { return a != 0 && b % a == 0; };
    if (layout.gpus() == 0 || layout.micro_batches == 0 || layout.micro_batch == 0)
        return base::Error{"each degree, the micro-batches and their size are at least 1"};
    if (layout.zero > 3) return base::Error{"zero is 0, 1, 2 or 3"};
    if (!divides(layout.tensor, model.heads))
        return base::Error{fmt::format("tp: {} does not divide the {} heads of {}", layout.tensor,
                                       model.heads, model.name)};
    if (uint64_t{layout.pipeline} * layout.chunks > model.layers)
        return base::Error{
            fmt::format("pp: {} stages of {} chunks are more than the {} layers of {}",
                        layout.pipeline, layout.chunks, model.layers, model.name)};
    if (layout.chunks > 1 && !divides(layout.pipeline, layout.micro_batches))
        return base::Error{
            fmt::format("micro_batches: {} is no multiple of pp, {}, as interleaving "
                        "needs",
                        layout.micro_batches, layout.pipeline)};
    if (!divides(2 * layout.context, layout.sequence) && layout.context > 1)
        return base::Error{fmt::format("cp: {} tokens are not cut into {} equal chunks, two a rank",
                                       layout.sequence, 2 * layout.context)};
    if (layout.expert > 1 && !divides(layout.expert, model.experts))
        return base::Error{fmt::format("ep: {} does not divide the {} experts of {}", layout.expert,
                                       model.experts, model.name)};
    if (!divides(layout.expert, layout.replicas()))
        return base::Error{fmt::format("ep: {} does not divide the {} ranks of cp and dp",
                                       layout.expert, layout.replicas())};
    return std::nullopt;
}

RankParameters rank_parameters(const Model& model, const Layout& layout, uint32_t stage) {
    RankParameters found;
    if (layout.is_dual) {
        Layout single = layout;
        single.is_dual = false;
        found = rank_parameters(model, single, layout.pipeline - 1 - stage);
    }
    for (uint32_t layer = 0; layer < model.layers; ++layer) {
        if (!is_of_stage(layer, stage, model, layout)) continue;
        const uint64_t experts =
            model.has_experts(layer) ? model.experts * expert_parameters(model) : 0;
        found.common += divided(layer_parameters(model, layer) - experts, layout.tensor);
        found.experts += divided(experts, uint64_t{layout.tensor} * layout.expert);
    }
    const bool is_first = stage == 0;
    const bool is_last = stage + 1 == layout.pipeline;
    const uint64_t embedding = divided(embedding_parameters(model), layout.tensor);
    if (is_first) found.common += embedding;
    // GPT has one matrix for both, of which the last stage has a copy if it is another one.
    if (is_last && !(model.is_classic && is_first)) found.common += embedding;
    return found;
}

Memory memory_of(const Model& model, const Layout& layout) {
    Memory most;
    for (uint32_t stage = 0; stage < layout.pipeline; ++stage) {
        const RankParameters own = rank_parameters(model, layout, stage);
        const auto shared = [&](uint64_t bytes, uint32_t from) {
            if (layout.zero < from) return bytes * own.total();
            return divided(bytes * own.common, layout.replicas()) +
                   divided(bytes * own.experts, layout.replicas() / layout.expert);
        };
        Memory one;
        one.parameters = shared(kValueBytes, 3);
        one.gradients = shared(kGradientBytes, 2);
        if (!layout.optimizer_is_elsewhere) one.optimizer = shared(kOptimizerBytes, 1);
        if (stage == 0)
            one.activations = layers_kept(model, layout) * activations_of_layer(model, layout);
        if (one.total() > most.total()) most = one;
    }
    return most;
}

std::optional<base::Error> check_memory(const Model& model, const Layout& layout, const Gpu& gpu) {
    const Memory need = memory_of(model, layout);
    if (need.total() <= gpu.memory_bytes) return std::nullopt;
    return base::Error{fmt::format(
        "{} does not fit into the {} of {}: parameters {} + gradients {} + optimizer {} + "
        "activations {} = {}; take more tp, pp or cp, a higher zero, or recompute",
        model.name, gigabytes(gpu.memory_bytes), gpu.name, gigabytes(need.parameters),
        gigabytes(need.gradients), gigabytes(need.optimizer), gigabytes(need.activations),
        gigabytes(need.total()))};
}

uint64_t tensor_bytes(const Model& model, const Layout& layout) {
    return kValueBytes * tokens_of_rank(layout) * model.hidden;
}

uint64_t pipeline_bytes(const Model& model, const Layout& layout) {
    const uint64_t bytes = tensor_bytes(model, layout);
    return layout.is_sequence_parallel ? bytes / layout.tensor : bytes;
}

uint64_t context_bytes(const Model& model, const Layout& layout) {
    const uint64_t values = 2 * uint64_t{model.kv_heads} * model.head_size;
    return kValueBytes * values * layout.micro_batch * layout.sequence / layout.tensor;
}

uint64_t gathered_bytes(const Model& model, const Layout& layout, uint32_t stage) {
    return kValueBytes * rank_parameters(model, layout, stage).common;
}

uint64_t gradient_bytes(const Model& model, const Layout& layout, uint32_t stage) {
    return kGradientBytes * rank_parameters(model, layout, stage).common;
}

Fraction bubble(const Layout& layout) {
    return {uint64_t{layout.pipeline} - 1, uint64_t{layout.chunks} * layout.micro_batches};
}

}  // namespace tulle::workload
