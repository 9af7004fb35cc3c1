// Serving as a scenario writes it, and as it runs.
#include "scenario/serving.h"

#include <gtest/gtest.h>

#include "scenario/files_test.h"
#include "sim/testing.h"
#include "workload/serving/run.h"

namespace tulle::scenario {
namespace {

const std::string kServed =
    "model: llama3-8b, rate: 200, requests: 30, prompt: {from: 50, to: 400}, output: 4";

std::string serving_scenario(const std::string& rest) {
    return "topology: rail:servers=2,rails=4\ngpus: {scale_up: nvlink4}\nwork:\n  - serving: {" +
           rest + "}\n";
}

sim::Setup serving_setup(const std::string& rest) {
    auto setup = read_scenario(serving_scenario(rest), "s.yaml",
                               files_in_memory({{"r.txt", "0s 100 5\n3ms 20 2\n"}}));
    EXPECT_TRUE(setup.ok()) << setup.error().message;
    return setup ? *setup : sim::Setup{};
}

const std::string kApart =
    kServed + ", prefill: {tp: 4, ranks: [0-3]}, decode: {tp: 4, ranks: [4-7]}";

TEST(serving, ends_with_all_requests_answered_whichever_way_it_is_laid_out) {
    for (const std::string& layout : {kServed + ", together: {tp: 4}", kServed + ", together: {}",
                                      kApart, kApart + ", kv: whole"}) {
        const sim::Setup setup = serving_setup(layout);
        const sim::Result result = sim::testing::run(setup, 1);
        EXPECT_EQ(result.end, sim::Result::End::done) << result.stuck_reason;
        ASSERT_EQ(result.serving.size(), 1u);
        EXPECT_EQ(result.serving[0].gaps.size(), 30u * 3) << layout;
        const auto ideal = workload::serve_alone(setup.program, 0);
        for (size_t i = 0; i < 30; ++i) {
            const workload::RequestOutcome& one = result.serving[0].requests[i];
            EXPECT_TRUE(one.finished);
            EXPECT_GE(one.first_token, one.arrival);
            EXPECT_GE(one.last_token, one.first_token);
        }
        EXPECT_GE(result.time, ideal.requests.back().last_token);
    }
}

TEST(serving, finds_the_same_with_any_number_of_partitions) {
    const sim::Setup setup = serving_setup(kApart);
    const sim::Result alone = sim::testing::run(setup, 1);
    for (const size_t partitions : {2u, 3u, 8u}) {
        const sim::Result other = sim::testing::run(setup, partitions);
        EXPECT_EQ(other.hash, alone.hash);
        EXPECT_EQ(other.serving[0].gaps, alone.serving[0].gaps);
    }
}

TEST(serving, sends_a_cache_layer_by_layer_behind_the_layers_that_follow) {
    const auto mean_gap = [](const std::string& kv) {
        const sim::Result result = sim::testing::run(
            serving_setup("model: llama3-8b, rate: 10, requests: 5, prompt: 8000, output: 2, "
                          "prefill: {tp: 4, ranks: [0-3]}, decode: {tp: 4, ranks: [4-7]}, kv: " +
                          kv),
            1);
        uint64_t sum = 0;
        for (const uint64_t gap : result.serving[0].gaps) sum += gap;
        return sum / result.serving[0].gaps.size();
    };
    EXPECT_LT(mean_gap("layers"), mean_gap("whole"));
}

TEST(serving, reads_requests_from_a_file) {
    const sim::Setup setup = serving_setup("model: llama3-8b, file: r.txt, together: {tp: 4}");
    const auto& requests = setup.program.jobs[0].serving->requests;
    ASSERT_EQ(requests.size(), 2u);
    EXPECT_EQ(requests[1].arrival, base::Duration{3'000'000'000});
}

TEST(serving, refuses_what_cannot_work_in_one_sentence) {
    const auto says = [](const std::string& rest, const std::string& sentence) {
        EXPECT_EQ(answer(serving_scenario(rest)), "s.yaml:4: " + sentence);
    };
    const std::string model = "model: llama3-8b";
    says(model,
         "rate is missing; write rate: 2.5, requests: 100, prompt: 800, output: 200, or "
         "file: requests.txt");
    says(kServed,
         "who serves is missing; write together: {tp: 8}, or both prefill: {tp: 8, ranks: "
         "[0-7]} and decode: {tp: 8, ranks: [8-15]}");
    says(kServed + ", prefill: {tp: 4}, decode: {tp: 4}",
         "prefill: ranks are missing; write ranks: [0-7]");
    says(kServed + ", prefill: {ranks: [0-3]}, decode: {ranks: [3-7]}",
         "GPU 3 is in prefill and in decode");
    says(kServed + ", together: {tp: 3}",
         "together: tp: 32 heads are not shared out evenly among 3 ranks");
    says(kServed + ", together: {ep: 4}", "together: ep: llama3-8b has no experts; leave it out");
    says(kServed + ", file: r.txt, together: {}", "rate has no effect beside file; remove one");
    says(model + ", rate: x, requests: 1, prompt: 1, output: 1, together: {}",
         "rate: requests a second, from 0.001 to 1000000, such as rate: 2.5");
    says(model + ", rate: 1, requests: 1, prompt: {from: 5, to: 2}, output: 1, together: {}",
         "prompt: from is more than to");
    says("gpu: a100, precision: fp8, " + kServed + ", together: {}", "precision: a100 has no fp8");
}

}  // namespace
}  // namespace tulle::scenario
