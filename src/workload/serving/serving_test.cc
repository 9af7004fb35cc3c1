#include "workload/serving/serving.h"

#include <gtest/gtest.h>

#include <map>

#include "workload/experts.h"
#include "workload/serving/run.h"

namespace tulle::workload {
namespace {

using base::Duration;
using base::Instant;

ServingOptions served(std::string_view model) {
    ServingOptions options;
    options.model = *find_model(model);
    options.engine.gpu = *find_gpu("h100");
    return options;
}

ServingGroup group_of(uint32_t first, uint32_t count, uint32_t tensor, uint32_t expert = 1) {
    ServingGroup group;
    for (uint32_t i = first; i < first + count; ++i) group.members.push_back({i, i / 8, i % 8});
    group.tensor = tensor;
    group.expert = expert;
    return group;
}

std::vector<ServingGroup> apart(uint32_t prompts, uint32_t answers) {
    std::vector<ServingGroup> groups{group_of(0, 8, prompts), group_of(8, 8, answers)};
    groups[0].makes_answers = false;
    groups[1].computes_prompts = false;
    return groups;
}

Duration in_no_time(const std::vector<Placement>&, const CollectiveOptions&) {
    return {};
}

Program program_for(const ServingOptions& options, const std::vector<ServingGroup>& groups,
                    std::vector<Request> requests) {
    for (const ServingGroup& group : groups) {
        const auto wrong = check(options, group, requests);
        EXPECT_FALSE(wrong) << wrong->message;
    }
    Program program;
    append_serving(program, Job{"serving"}, options, groups, std::move(requests), {true, {}, 0},
                   in_no_time);
    const auto wrong = program.check(16);
    EXPECT_FALSE(wrong) << wrong->message;
    return program;
}

// What one sequence takes in a step, of so many new tokens before its context ends.
Duration step_of(const ServingOptions& options, uint32_t tensor, uint64_t tokens,
                 uint64_t context) {
    const ServingCosts costs{options.model,        options.engine, options.memory_permille,
                             options.weight_bytes, tensor,         1};
    const StepLoad load{tokens, base::uint128_t{tokens} * context, context, 1, tokens};
    Duration sum = options.overhead;
    for (uint32_t layer = 0; layer < options.model.layers; ++layer)
        sum += layer_time(costs, layer, load);
    return sum + output_time(costs, load);
}

TEST(requests, are_drawn_with_logarithms_in_integers) {
    EXPECT_EQ(negative_logarithm(uint64_t{1} << 63), 2'977'044'472u);  // ln 2
    EXPECT_EQ(negative_logarithm(uint64_t{1} << 62), uint64_t{2} * 2'977'044'472);
    EXPECT_LT(negative_logarithm(~uint64_t{0}), 4u);
}

TEST(requests, come_at_the_rate_that_is_asked_for) {
    base::RandomStream random({1, 2, 3});
    const auto drawn = draw_requests({10'000, Duration{1'000'000'000}, {10, 20}, {1, 1}}, random);
    const int64_t mean = drawn.back().arrival.ps / 10'000;
    EXPECT_NEAR(static_cast<double>(mean), 1e9, 3e7);  // three times the expected deviation
    uint64_t early = 0;  // within the mean of the one before: 1 - 1/e of all
    for (size_t i = 1; i < drawn.size(); ++i)
        early += (drawn[i].arrival - drawn[i - 1].arrival).ps < 1'000'000'000 ? 1 : 0;
    EXPECT_NEAR(static_cast<double>(early), 6321, 150);
    for (const Request& one : drawn) {
        EXPECT_GE(one.prompt, 10u);
        EXPECT_LE(one.prompt, 20u);
    }
}

TEST(requests, of_a_file_are_read_or_refused_with_their_line) {
    const auto good = read_requests("# when prompt answer\n0s 100 20\n1.5s 8 1\n", "r.txt");
    ASSERT_TRUE(good.ok()) << good.error().message;
    EXPECT_EQ((*good)[1].arrival, Duration{1'500'000'000'000});
    EXPECT_EQ((*good)[0].output, 20u);
    EXPECT_EQ(read_requests("0s 5\n", "r.txt").error().message.substr(0, 8), "r.txt:1:");
    EXPECT_EQ(read_requests("1s 5 5\n0s 5 5\n", "r.txt").error().message,
              "r.txt:2: the request comes before the one above; sort them");
    EXPECT_EQ(read_requests("1s 0 5\n", "r.txt").error().message,
              "r.txt:1: prompt and answer have at least one token");
    EXPECT_EQ(read_requests("", "r.txt").error().message, "r.txt:1: there is no request in it");
}

TEST(a_kv_cache, reaches_each_rank_with_all_that_it_needs) {
    for (const std::string_view name : {"llama3-70b", "llama3-8b", "deepseek-v3"})
        for (const uint32_t from : {1u, 2u, 8u, 16u})
            for (const uint32_t to : {1u, 4u, 8u, 16u}) {
                const Model& model = *find_model(name);
                std::map<uint32_t, uint64_t> bytes;
                for (const KvTransfer& one : kv_transfers(model, from, to)) {
                    bytes[one.to] += one.bytes;
                    EXPECT_LT(one.from, from);
                }
                ASSERT_EQ(bytes.size(), to);
                for (const auto& [rank, sum] : bytes)
                    EXPECT_EQ(sum * model.layers * kv_shards(model, to), kv_bytes_per_token(model))
                        << name << " " << from << " " << to;
            }
}

TEST(a_kv_cache, has_as_many_bytes_as_the_prompt_has_tokens_times_those_of_one) {
    EXPECT_EQ(kv_bytes_per_token(*find_model("llama3-70b")), 327'680u);
    EXPECT_EQ(kv_bytes_per_token(*find_model("deepseek-v3")), 70'272u);
    for (const bool by_layer : {false, true}) {
        ServingOptions options = served("llama3-70b");
        options.kv_by_layer = by_layer;
        const Program program = program_for(options, apart(8, 4), {{{}, 1000, 5}, {{}, 77, 5}});
        uint64_t sent = 0;
        uint64_t messages = 0;
        for (const Task& task : program.tasks())
            if (program.phases[task.phase].name == "KV cache" && task.is_gated()) {
                sent += task.bytes;
                ++messages;
            }
        EXPECT_EQ(sent, 1077u * 327'680);
        EXPECT_EQ(messages, 2u * 8 * (by_layer ? 80 : 1));
    }
}

TEST(on_an_infinitely_fast_network, one_request_takes_what_its_steps_compute) {
    ServingOptions options = served("llama3-8b");
    options.overhead = Duration{5'000'000};
    const Request request{Duration{123}, 700, 4};
    for (const bool is_apart : {false, true}) {
        const std::vector<ServingGroup> groups =
            is_apart ? apart(8, 8) : std::vector<ServingGroup>{group_of(0, 8, 8)};
        options.kv_by_layer = !is_apart;
        const ServingOutcome outcome = serve_alone(program_for(options, groups, {request}), 0);
        const RequestOutcome& one = outcome.requests[0];
        EXPECT_TRUE(one.finished);
        EXPECT_EQ(one.first_token - one.arrival, step_of(options, 8, 700, 700));
        std::vector<uint64_t> gaps;
        for (const uint64_t context : {701u, 702u, 703u})
            gaps.push_back(static_cast<uint64_t>(step_of(options, 8, 1, context).ps));
        EXPECT_EQ(outcome.gaps, gaps);
        EXPECT_EQ(outcome.steps, 4u);
    }
}

TEST(on_an_infinitely_fast_network, layers_sent_one_by_one_take_as_long_as_all_at_once) {
    ServingOptions options = served("llama3-8b");
    const std::vector<Request> requests{{Duration{}, 300, 9}, {Duration{1000}, 900, 3}};
    const ServingOutcome layers = serve_alone(program_for(options, apart(4, 8), requests), 0);
    options.kv_by_layer = false;
    const ServingOutcome whole = serve_alone(program_for(options, apart(4, 8), requests), 0);
    for (size_t i = 0; i < requests.size(); ++i)
        EXPECT_EQ(layers.requests[i].last_token, whole.requests[i].last_token);
}

TEST(a_step, joins_answers_that_are_under_way_and_cuts_prompts_to_what_is_left) {
    ServingOptions options = served("llama3-8b");
    options.step_tokens = 100;
    const ServingOutcome outcome = serve_alone(
        program_for(options, {group_of(0, 8, 8)}, {{Duration{}, 250, 2}, {Duration{}, 10, 2}}), 0);
    // 100, 100, 50 and the other prompt's 10; then both answers at once.
    EXPECT_EQ(outcome.steps, 4u);
    EXPECT_EQ(outcome.requests[0].first_token, outcome.requests[1].first_token);
    EXPECT_EQ(outcome.requests[0].last_token, outcome.requests[1].last_token);
}

TEST(a_request, waits_outside_until_there_is_room_for_its_cache) {
    ServingOptions options = served("llama3-8b");
    options.most_sequences = 1;
    const ServingOutcome outcome = serve_alone(
        program_for(options, {group_of(0, 8, 8)}, {{Duration{}, 10, 3}, {Duration{}, 10, 3}}), 0);
    EXPECT_EQ(outcome.steps, 6u);
    EXPECT_GT(outcome.requests[1].first_token, outcome.requests[0].last_token);
}

TEST(memory, refuses_a_model_that_does_not_fit_and_a_request_that_does_not) {
    const ServingOptions options = served("llama3-70b");
    const auto model = check(options, group_of(0, 8, 1), {{{}, 10, 10}});
    ASSERT_TRUE(model);
    EXPECT_NE(model->message.find("does not fit"), std::string::npos);
    const auto request = check(options, group_of(0, 8, 2), {{{}, 1'000'000, 10}});
    ASSERT_TRUE(request);
    EXPECT_NE(request->message.find("a request of 1000010 tokens"), std::string::npos);
}

TEST(experts, are_met_by_few_tokens_one_by_one_and_by_many_all) {
    ServingCosts costs;
    costs.model = *find_model("deepseek-v3");
    costs.expert = 32;
    EXPECT_NEAR(static_cast<double>(experts_met(costs, 1)) / (uint64_t{1} << 32), 8.0 / 32, 1e-6);
    EXPECT_NEAR(static_cast<double>(experts_met(costs, 10'000)) / (uint64_t{1} << 32), 8.0, 1e-6);
}

TEST(experts, are_sent_what_deepep_sends) {
    EXPECT_EQ(dispatch_bytes(7168), 7392u);
    EXPECT_EQ(low_latency_dispatch_bytes(7168), 7408u);
    EXPECT_EQ(combine_bytes(7168), 14336u);
}

}  // namespace
}  // namespace tulle::workload
