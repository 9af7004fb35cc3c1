// Models, GPUs and layouts against figures that their papers print.
#include <gtest/gtest.h>

#include "workload/training/costs.h"
#include "workload/training/layout.h"

namespace tulle::workload {
namespace {

double billions(uint64_t count) {
    return static_cast<double>(count) / 1e9;
}

TEST(Models, have_as_many_parameters_as_they_say) {
    const auto of = [](std::string_view name) { return billions(parameters(*find_model(name))); };
    EXPECT_NEAR(of("gpt3-175b"), 174.6, 0.05);
    EXPECT_NEAR(of("llama2-70b"), 68.98, 0.005);
    EXPECT_NEAR(of("llama3-8b"), 8.03, 0.005);
    EXPECT_NEAR(of("llama3-70b"), 70.55, 0.005);
    EXPECT_NEAR(of("llama3-405b"), 405.85, 0.005);
    EXPECT_NEAR(of("mixtral-8x7b"), 46.7, 0.05);
    EXPECT_NEAR(of("deepseek-v3"), 671, 0.5);
    EXPECT_NEAR(of("nemotron4-340b"), 340, 2);
    EXPECT_NEAR(billions(active_parameters(*find_model("mixtral-8x7b"))), 12.9, 0.05);
    EXPECT_NEAR(billions(active_parameters(*find_model("deepseek-v3"))), 37, 1);
    EXPECT_EQ(find_model("llama9"), nullptr);
}

TEST(Models, leave_so_many_bytes_of_keys_and_values) {
    EXPECT_EQ(kv_bytes_per_token(*find_model("gpt3-175b")), 4'718'592u);
    EXPECT_EQ(kv_bytes_per_token(*find_model("llama3-405b")), 516'096u);
    EXPECT_EQ(kv_bytes_per_token(*find_model("deepseek-v3")), 70'272u);
    EXPECT_EQ(kv_bytes_per_token(*find_model("nemotron4-340b")), 589'824u);
}

TEST(Models, take_so_many_operations_a_sequence) {
    const auto of = [](std::string_view name, uint64_t sequence) {
        return static_cast<double>(flops_per_sequence(*find_model(name), sequence));
    };
    EXPECT_NEAR(of("llama3-8b", 8192) / 1e14, 4.74, 0.005);
    EXPECT_NEAR(of("llama3-70b", 8192) / 1e15, 3.94, 0.005);
    EXPECT_NEAR(of("llama3-405b", 8192) / 1e16, 2.15, 0.005);
    EXPECT_NEAR(of("gpt3-175b", 2048) / 1e15, 2.20, 0.005);
    EXPECT_NEAR(of("nemotron4-15b", 4096) / 1e14, 3.85, 0.005);
    EXPECT_NEAR(of("nemotron4-340b", 4096) / 1e15, 8.62, 0.005);
}

Layout llama_405b() {
    Layout layout;
    layout.tensor = 8;
    layout.pipeline = 16;
    layout.data = 128;
    layout.micro_batches = 16;
    layout.sequence = 8192;
    layout.zero = 2;
    return layout;
}

TEST(Layouts, of_llama_405b_say_what_its_paper_says) {
    const Model& model = *find_model("llama3-405b");
    Layout layout = llama_405b();
    EXPECT_FALSE(check(layout, model));
    EXPECT_EQ(layout.gpus(), 16'384u);
    EXPECT_EQ(layout.tokens_per_step(), 16'777'216u);
    EXPECT_EQ(tensor_bytes(model, layout), 268'435'456u);
    EXPECT_EQ(pipeline_bytes(model, layout), 268'435'456u / 8);
    EXPECT_EQ(bubble(layout), (Fraction{15, 16}));
    uint64_t sum = 0;
    for (uint32_t stage = 0; stage < 16; ++stage)
        sum += rank_parameters(model, layout, stage).total() * layout.tensor;
    EXPECT_NEAR(billions(sum), billions(parameters(model)), 0.001);
    layout.context = 16;
    layout.data = 8;
    layout.sequence = 131'072;
    EXPECT_FALSE(check(layout, model));
    EXPECT_EQ(context_bytes(model, layout), 67'108'864u);
}

// A layer less at either end, as in its paper, and no stage without layers.
TEST(Layouts, have_fewer_layers_at_the_ends_where_they_are_not_equal) {
    const auto sizes = [](uint32_t layers, uint32_t parts) {
        std::vector<uint32_t> of_part(parts);
        uint32_t last = 0;
        for (uint32_t layer = 0; layer < layers; ++layer) {
            const uint32_t part = part_of_layer(layer, layers, parts);
            EXPECT_GE(part, last);
            last = part;
            ++of_part.at(part);
        }
        return of_part;
    };
    EXPECT_EQ(sizes(126, 16),
              (std::vector<uint32_t>{7, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 7}));
    EXPECT_EQ(sizes(13, 4), (std::vector<uint32_t>{3, 4, 3, 3}));
    EXPECT_EQ(sizes(16, 4), (std::vector<uint32_t>{4, 4, 4, 4}));
    EXPECT_EQ(sizes(5, 5), (std::vector<uint32_t>{1, 1, 1, 1, 1}));
    EXPECT_EQ(sizes(61, 16).front(), 3u);
    for (uint32_t layers = 1; layers < 60; ++layers)
        for (uint32_t parts = 1; parts <= layers; ++parts) {
            const std::vector<uint32_t> of_part = sizes(layers, parts);
            for (const uint32_t count : of_part) {
                EXPECT_GE(count, layers / parts);
                EXPECT_LE(count, (layers + parts - 1) / parts);
            }
        }
}

// Llama 3 ran it on 80 GB with nothing recomputed but attention (arXiv 2407.21783).
TEST(Layouts, of_llama_405b_fit_as_it_was_trained) {
    const Model& model = *find_model("llama3-405b");
    Layout layout = llama_405b();
    layout.recompute = Recompute::selective;
    EXPECT_FALSE(check_memory(model, layout, *find_gpu("h100")));
    // Chunks of one layer: the first one is the embedding alone, the last one the output.
    layout.chunks = 8;
    EXPECT_FALSE(check(layout, model));
    EXPECT_FALSE(check_memory(model, layout, *find_gpu("h100")));
    const auto parts = part_costs(model, layout, {*find_gpu("h100")}, 128);
    EXPECT_FALSE(parts.front().front().is_layer);
    EXPECT_EQ(parts.front().front().forward.ps, 0);
    EXPECT_EQ(parts.front().front().common_parameters, embedding_parameters(model) / 8);
    EXPECT_FALSE(parts.back().back().is_layer);
    EXPECT_GT(parts.back().back().forward.ps, 0);
    for (size_t i = 1; i < 127; ++i) {
        ASSERT_EQ(parts[i].size(), 1u);
        EXPECT_TRUE(parts[i].front().is_layer);
    }
    layout.chunks = 9;
    EXPECT_TRUE(check(layout, model));
}

TEST(Layouts, share_out_what_zero_says) {
    const Model& model = *find_model("llama3-8b");
    Layout layout;
    layout.data = 8;
    layout.sequence = 8192;
    layout.recompute = Recompute::full;
    const uint64_t all = rank_parameters(model, layout, 0).total();
    const uint64_t bytes[][3] = {{2 * all, 4 * all, 12 * all},
                                 {2 * all, 4 * all, 12 * all / 8},
                                 {2 * all, 4 * all / 8, 12 * all / 8},
                                 {2 * all / 8, 4 * all / 8, 12 * all / 8}};
    const uint64_t output = uint64_t{4} * 8192 * (4096 + 128'256);
    for (layout.zero = 0; layout.zero < 4; ++layout.zero) {
        const Memory memory = memory_of(model, layout);
        EXPECT_EQ(memory.parameters, bytes[layout.zero][0]);
        EXPECT_EQ(memory.gradients, bytes[layout.zero][1]);
        EXPECT_EQ(memory.optimizer, bytes[layout.zero][2]);
        EXPECT_EQ(memory.activations, 32u * 2 * 8192 * 4096 + output);
    }
}

// In the first stage are most micro-batches, in the last one the output: which is more depends on
// the vocabulary.
TEST(Layouts, keep_the_logits_of_a_micro_batch) {
    Model model = *find_model("llama3-8b");
    Layout layout;
    layout.sequence = 8192;
    layout.pipeline = 4;
    layout.tensor = 2;
    layout.micro_batches = 8;
    layout.recompute = Recompute::full;
    const uint64_t layer = 2 * 8192 * 4096 / 2;
    const auto logits = [&] { return uint64_t{4} * 8192 * (4096 + model.vocabulary) / 2; };
    EXPECT_EQ(memory_of(model, layout).activations, 8 * layer + logits());
    model.vocabulary = 1024;
    EXPECT_EQ(memory_of(model, layout).activations, 4 * 8 * layer);
    model.vocabulary = 1'000'000;
    EXPECT_EQ(memory_of(model, layout).activations, 8 * layer + logits());
}

// Between layers a rank has its part of the sequence, and that is what is kept (arXiv 2205.05198).
TEST(Layouts, keep_a_part_of_the_inputs_with_sequence_parallelism_and_full_recompute) {
    const Model& model = *find_model("llama3-8b");
    Layout layout;
    layout.sequence = 8192;
    layout.tensor = 8;
    layout.recompute = Recompute::full;
    const uint64_t logits = uint64_t{4} * 8192 * 128'256 / 8;
    EXPECT_EQ(memory_of(model, layout).activations,
              32u * 2 * 8192 * 4096 / 8 + 4 * 8192 * 4096 / 8 + logits);
    layout.is_sequence_parallel = false;
    EXPECT_EQ(memory_of(model, layout).activations,
              32u * 2 * 8192 * 4096 + 4 * 8192 * 4096 + logits);
}

TEST(Layouts, that_do_not_fit_are_refused_with_the_sum) {
    const Model& model = *find_model("llama3-70b");
    Layout layout;
    layout.tensor = 8;
    layout.data = 8;
    layout.sequence = 8192;
    layout.recompute = Recompute::selective;
    const auto error = check_memory(model, layout, *find_gpu("h100"));
    ASSERT_TRUE(error);
    EXPECT_EQ(error->message,
              "llama3-70b does not fit into the 80.0 GB of h100: parameters 17.6 GB + gradients "
              "35.3 GB + optimizer 105.8 GB + activations 23.4 GB = 182.1 GB; take more tp, pp or "
              "cp, a higher zero, or recompute");
    layout.pipeline = 4;
    layout.zero = 1;
    EXPECT_FALSE(check_memory(model, layout, *find_gpu("h100")));
}

TEST(Layouts, that_do_not_go_together_are_refused) {
    const Model& model = *find_model("llama3-70b");
    Layout layout;
    layout.sequence = 8192;
    layout.tensor = 7;
    EXPECT_EQ(check(layout, model)->message, "tp: 7 does not divide the 64 heads of llama3-70b");
    layout.tensor = 8;
    layout.pipeline = 81;
    EXPECT_TRUE(check(layout, model));
    layout.pipeline = 4;
    layout.chunks = 5;
    layout.micro_batches = 6;
    EXPECT_EQ(check(layout, model)->message,
              "micro_batches: 6 is no multiple of pp, 4, as interleaving needs");
    layout.micro_batches = 64;
    EXPECT_FALSE(check(layout, model));
    EXPECT_EQ(bubble(layout), (Fraction{3, 320}));
    layout.expert = 2;
    EXPECT_TRUE(check(layout, model));
}

}  // namespace
}  // namespace tulle::workload
