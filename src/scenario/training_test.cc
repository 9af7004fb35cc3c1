// Steps of training as a scenario writes them.
#include "scenario/training.h"

#include <gtest/gtest.h>

#include "scenario/files_test.h"

namespace tulle::scenario {
namespace {

using workload::Purpose;

constexpr std::string_view kModel =
    "model: {layers: 4, hidden: 256, heads: 4, vocabulary: 512, sequence: 256}";

std::string scenario_with(const std::string& training) {
    return "topology: rail:servers=2,rails=4\ngpus: {scale_up: nvlink4}\nwork:\n  - training: {" +
           training + "}\n";
}

std::string answer_to(const std::string& training) {
    return answer(scenario_with(training));
}

std::string of_model(std::string_view rest) {
    return std::string(kModel) + std::string(rest);
}

sim::Setup setup_of(const std::string& training) {
    auto setup = read_scenario(scenario_with(training), "s.yaml", files_in_memory({}));
    EXPECT_TRUE(setup.ok()) << setup.error().message;
    return setup ? *setup : sim::Setup{};
}

const workload::TrainingJob& training_of(const sim::Setup& setup) {
    return *setup.program.jobs.at(0).training;
}

TEST(training, takes_all_gpus_and_replicas_are_what_is_left) {
    const sim::Setup setup = setup_of(of_model(", tp: 2, pp: 2, micro_batches: 4"));
    const workload::Layout& layout = training_of(setup).options.layout;
    EXPECT_EQ(layout.gpus(), 8u);
    EXPECT_EQ(layout.data, 2u);
    EXPECT_EQ(training_of(setup).tokens, 2u * 4 * 256);
    EXPECT_FALSE(setup.program.check(8));
}

constexpr std::string_view kManyExperts =
    "model: {layers: 2, hidden: 1024, heads: 4, vocabulary: 512, sequence: 2048, experts: 16, "
    "experts_of_token: 4, expert_feed_forward: 256}, ep: 16";

constexpr std::string_view kExperts =
    "model: {layers: 4, hidden: 256, heads: 4, vocabulary: 512, sequence: 256, experts: 16, "
    "experts_of_token: 2, expert_feed_forward: 256}, ep: 8, micro_batches: 2";

TEST(training, sends_tokens_to_experts_as_deepep_does) {
    const sim::Setup setup = setup_of(std::string(kExperts) + ", experts: deepep");
    const auto& repeated = training_of(setup).repeated;
    ASSERT_EQ(repeated.size(), 2u);
    EXPECT_EQ(repeated[0].way, "deepep dispatch");
    EXPECT_EQ(repeated[1].way, "deepep combine");
    for (const workload::RepeatedCollective& one : repeated) {
        EXPECT_EQ(one.purpose, Purpose::expert);
        EXPECT_EQ(one.times, 2u * 4 * 2);  // forward and backward, by layer and micro-batch
        EXPECT_EQ(one.ranks, 8u);
        EXPECT_TRUE(one.leaves_server);
    }
    // FP8 with scales there, BF16 back, the same copies.
    EXPECT_EQ(repeated[0].bytes / (256 + 8), repeated[1].bytes / 512);
}

TEST(training, refuses_what_deepep_cannot_do) {
    const std::string experts(kExperts);
    EXPECT_NE(answer_to(experts + ", hot: 2").find("it goes with experts: deepep"),
              std::string::npos);
    EXPECT_NE(answer_to(experts + ", experts: deepep, layers: each").find("layers: once"),
              std::string::npos);
    EXPECT_NE(answer_to(of_model(", experts: deepep")).find("write ep: 8"), std::string::npos);
}

TEST(training, saves_and_reads_as_jobs_behind_its_own) {
    const std::string stores = ", checkpoint: {bytes: 16}, data: {bytes: 1MiB, block: 256KiB}";
    auto read = read_scenario("topology: rail:servers=2,rails=4,storage=2\nwork:\n  - training: {" +
                                  of_model(stores) + "}\n",
                              "s.yaml", files_in_memory({}));
    ASSERT_TRUE(read.ok()) << read.error().message;
    const workload::Program& program = read->program;
    ASSERT_EQ(program.jobs.size(), 3u);
    EXPECT_EQ(program.jobs[1].name, program.jobs[0].name + ": checkpoint");
    EXPECT_EQ(program.jobs[2].name, program.jobs[0].name + ": data");
    uint64_t written = 0;
    uint64_t found = 0;
    for (const workload::Task& task : program.tasks()) {
        const uint32_t job = program.phases[task.phase].job;
        if (job == 1 && task.kind == workload::Task::Kind::read) written += task.bytes;
        if (job == 2 && task.rank >= 8 && task.bytes > 16) found += task.bytes;
    }
    const workload::Model& model = training_of(*read).options.model;
    EXPECT_EQ(written, 16 * (workload::parameters(model) - model.hidden));  // without the last norm
    EXPECT_EQ(found, 8u << 20);
}

TEST(training, says_what_is_missing_of_failures_and_stores) {
    const auto says = [](const std::string& rest, std::string_view words) {
        return answer_to(of_model(rest)).find(words) != std::string::npos;
    };
    EXPECT_TRUE(says(", failures: {}", "write per_node_day: rsc-1"));
    EXPECT_TRUE(says(", failures: {per_node_day: rsc-1}", "write checkpoint: {}, or save: 10s"));
    EXPECT_TRUE(says(", failures: {per_node_day: 2, save: 1s}", "per_node_day"));
    EXPECT_TRUE(says(", data: {}", "the size is missing"));
    EXPECT_TRUE(says(", data: {bytes: 1, mode: blocking}", "it goes with checkpoint"));
    EXPECT_TRUE(says(", checkpoint: {}", "storage has no targets"));
    const sim::Setup setup = setup_of(of_model(", failures: {per_node_day: llama3, save: 9s}"));
    const workload::Failures& failures = training_of(setup).options.failures;
    EXPECT_EQ(failures.per_million_node_days, 3790u);
    EXPECT_EQ(failures.servers, 2u);
}

TEST(training, simulates_a_collective_of_layers_once) {
    const sim::Setup setup = setup_of(of_model(", tp: 4, micro_batches: 2"));
    const auto& repeated = training_of(setup).repeated;
    ASSERT_EQ(repeated.size(), 2u);
    for (const workload::RepeatedCollective& one : repeated) {
        EXPECT_EQ(one.purpose, Purpose::tensor);
        EXPECT_GT(one.time.ps, 0);
        EXPECT_EQ(one.times, 4u * 4 * 2);
        EXPECT_FALSE(one.leaves_server);
    }
    const sim::Setup each = setup_of(of_model(", tp: 4, micro_batches: 2, layers: each"));
    EXPECT_TRUE(training_of(each).repeated.empty());
    EXPECT_GT(each.program.size(), setup.program.size());
}

// What is simulated by itself takes the lane of the job: one that is lossless, if nothing is said.
// Without it, small buffers lose what goes to experts again and again.
TEST(training, collectives_that_are_simulated_once_go_at_the_level_of_the_job) {
    const auto time_at = [](const std::string& level) {
        auto read = read_scenario(
            "topology: rail:servers=8,rails=2,group=4\nprofile: roce-v2-400g\n"
            "fabric: {switch: {buffer: 200KB}}\ngpus: {scale_up: nvlink4}\nwork:\n  - training: {" +
                std::string(kManyExperts) + "}\n" + level,
            "s.yaml", files_in_memory({}));
        EXPECT_TRUE(read.ok()) << read.error().message;
        return training_of(*read).repeated.at(0).time;
    };
    EXPECT_GT(time_at("    level: 0\n"), 10 * time_at(""));
}

TEST(training, ranks_are_in_the_order_that_is_asked_for) {
    // Replicas of two servers, or of one.
    EXPECT_TRUE(training_of(setup_of(of_model(", pp: 4")))
                    .leaves_server[static_cast<size_t>(Purpose::gradients)]);
    EXPECT_FALSE(training_of(setup_of(of_model(", pp: 4, order: [dp, tp, cp, pp]")))
                     .leaves_server[static_cast<size_t>(Purpose::gradients)]);
}

TEST(training, that_cannot_be_is_one_sentence_with_its_line) {
    EXPECT_EQ(answer_to("tp: 2"), "s.yaml:4: the model is missing; write model: llama3-70b");
    EXPECT_EQ(answer_to(of_model(", tp: 3")),
              "s.yaml:4: 8 GPUs are no multiple of tp x pp x cp, 3");
    EXPECT_EQ(answer_to(of_model(", gpus: 16")),
              "s.yaml:4: gpus: there are 8, not 16; take a larger topology");
    EXPECT_EQ(answer_to(of_model(", virtual: 2")),
              "s.yaml:4: virtual needs a pipeline; write pp: 2 or more");
    EXPECT_EQ(answer_to(of_model(", pp: 2, schedule: interleaved")),
              "s.yaml:4: schedule: interleaved needs virtual, 2 at least");
    EXPECT_EQ(answer_to(of_model(", pp: 4, schedule: dualpipe, micro_batches: 4")),
              "s.yaml:4: schedule: dualpipe needs an even number of micro_batches, twice pp at "
              "least: 8");
    EXPECT_EQ(answer_to(of_model(", order: [tp, pp]")),
              "s.yaml:4: order: name all four, such as [tp, cp, pp, dp]");
    EXPECT_EQ(answer_to(of_model(", layers: each, overlap: [tensor]")),
              "s.yaml:4: overlap: tensor goes with layers: once");
    EXPECT_NE(answer_to("model: llama4").find("there is no model 'llama4'; there are gpt3-175b"),
              std::string::npos);
    EXPECT_NE(answer_to(of_model(", pipeline: 2")).find("unknown key 'pipeline'"),
              std::string::npos);
    EXPECT_NE(answer_to("model: {layers: 4}").find("model: hidden is missing"), std::string::npos);
}

TEST(training, of_a_model_that_does_not_fit_is_refused_with_the_sum) {
    EXPECT_EQ(answer_to("model: llama3-70b, tp: 4, pp: 2"),
              "s.yaml:4: llama3-70b does not fit into the 80.0 GB of h100: parameters 17.6 GB + "
              "gradients 35.3 GB + optimizer 105.8 GB + activations 23.9 GB = 182.7 GB; take more "
              "tp, pp or cp, a higher zero, or recompute");
}

}  // namespace
}  // namespace tulle::scenario
