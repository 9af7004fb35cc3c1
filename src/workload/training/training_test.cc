// Models, GPUs and layouts against figures that their papers print.
#include <gtest/gtest.h>

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
    for (layout.zero = 0; layout.zero < 4; ++layout.zero) {
        const Memory memory = memory_of(model, layout);
        EXPECT_EQ(memory.parameters, bytes[layout.zero][0]);
        EXPECT_EQ(memory.gradients, bytes[layout.zero][1]);
        EXPECT_EQ(memory.optimizer, bytes[layout.zero][2]);
        EXPECT_EQ(memory.activations, 32u * 2 * 8192 * 4096);
    }
}

// Between layers a rank has its part of the sequence, and that is what is kept (arXiv 2205.05198).
TEST(Layouts, keep_a_part_of_the_inputs_with_sequence_parallelism_and_full_recompute) {
    const Model& model = *find_model("llama3-8b");
    Layout layout;
    layout.sequence = 8192;
    layout.tensor = 8;
    layout.recompute = Recompute::full;
    EXPECT_EQ(memory_of(model, layout).activations, 32u * 2 * 8192 * 4096 / 8);
    layout.is_sequence_parallel = false;
    EXPECT_EQ(memory_of(model, layout).activations, 32u * 2 * 8192 * 4096);
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
              "35.3 GB + optimizer 105.8 GB + activations 22.8 GB = 181.6 GB; take more tp, pp or "
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
