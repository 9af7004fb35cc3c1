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

// True if a layer belongs to a stage: chunks of all stages alternate.
bool is_of_stage(uint32_t layer, uint32_t stage, const Model& model, const Layout& layout) {
    const uint32_t parts = layout.pipeline * layout.chunks;
    return part_of_layer(layer, model.layers, parts) % layout.pipeline == stage;
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

// Activations of one layer and micro-batch: 34 bytes per token and unit of the hidden layer, and
// five per head and pair of tokens unless attention is recomputed. The 34 are those of GPT, whose
// feed-forward layer is four times as wide; other models use them too.
uint64_t activations_of_layer(const Model& model, const Layout& layout) {
    const uint64_t units = tokens_of_rank(layout) * model.hidden;
    const uint64_t pairs =
        layout.recompute == Recompute::none
            ? 5 * uint64_t{model.heads} * tokens_of_rank(layout) * layout.sequence
            : 0;
    // Only the input of the layer is kept. With sequence parallelism a rank has a part of it.
    if (layout.recompute == Recompute::full)
        return layout.is_sequence_parallel ? divided(2 * units, layout.tensor) : 2 * units;
    const uint64_t split = layout.is_sequence_parallel ? 34 : 24;
    const uint64_t whole = layout.is_sequence_parallel ? 0 : 10;
    return whole * units + (split * units + pairs) / layout.tensor;
}

// The most layers of micro-batches whose activations a stage keeps: when the pipeline behind it is
// full, and with chunks, when the first ones of the next round have begun (arXiv 2104.04473).
uint64_t layers_kept(const Model& model, const Layout& layout, uint32_t stage) {
    const uint64_t layers = layers_of(stage, model, layout);
    if (layout.is_dual)
        return (layers + layers_of(layout.pipeline - 1 - stage, model, layout)) *
               (layout.pipeline + 1) / 2;
    const uint64_t behind = layout.pipeline - 1 - stage;
    if (layout.chunks == 1) return layers * std::min<uint64_t>(behind + 1, layout.micro_batches);
    const uint64_t chunks = 2 * behind + uint64_t{layout.pipeline} * (layout.chunks - 1) + 1;
    const uint64_t most = uint64_t{layout.chunks} * layout.micro_batches;
    return divided(layers * std::min(chunks, most), layout.chunks);
}

// Activations of the output layer: the input of its norm and its own input, two bytes each, and
// four bytes per logit (arXiv 2205.05198, 4.3). They are of one micro-batch, whose backward pass
// follows at once.
uint64_t activations_of_output(const Model& model, const Layout& layout) {
    const uint64_t tokens = tokens_of_rank(layout);
    const uint64_t inputs = 4 * tokens * model.hidden;
    return (layout.is_sequence_parallel ? divided(inputs, layout.tensor) : inputs) +
           divided(4 * tokens * model.vocabulary, layout.tensor);
}

std::string gigabytes(uint64_t bytes) {
    const uint64_t tenths = (bytes + 50'000'000) / 100'000'000;
    return fmt::format("{}.{} GB", tenths / 10, tenths % 10);
}

}  // namespace

uint32_t part_of_layer(uint32_t layer, uint32_t layers, uint32_t parts) {
    const uint32_t most = (layers + parts - 1) / parts;
    const uint32_t missing = most * parts - layers;
    const uint32_t at_front = missing / 2;  // parts with one layer less
    const uint32_t at_back = missing - at_front;
    const uint32_t first_full = at_front * (most - 1);
    const uint32_t end_of_full = layers - at_back * (most - 1);
    if (layer < first_full) return layer / (most - 1);
    if (layer < end_of_full) return at_front + (layer - first_full) / most;
    return parts - at_back + (layer - end_of_full) / (most - 1);
}

std::optional<base::Error> check(const Layout& layout, const Model& model) {
    const auto divides = [](uint64_t a, uint64_t b) { return a != 0 && b % a == 0; };
    if (layout.gpus() == 0 || layout.micro_batches == 0 || layout.micro_batch == 0)
        return base::Error{"each degree, the micro-batches and their size are at least 1"};
    if (layout.zero > 3) return base::Error{"zero is 0, 1, 2 or 3"};
    if (!divides(layout.tensor, model.heads))
        return base::Error{fmt::format("tp: {} does not divide the {} heads of {}", layout.tensor,
                                       model.heads, model.name)};
    const uint64_t parts = uint64_t{layout.pipeline} * layout.chunks;
    const uint64_t ends = layout.chunks > 1 ? 2 : 0;  // parts with only the embedding or the output
    if (parts > model.layers + ends)
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
    // GPT uses one matrix for both; if the last stage is not also the first, it has a copy.
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
        one.activations = layers_kept(model, layout, stage) * activations_of_layer(model, layout);
        const bool has_output = stage + 1 == layout.pipeline || (layout.is_dual && stage == 0);
        if (has_output) one.activations += activations_of_output(model, layout);
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
