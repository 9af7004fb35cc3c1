// Checkpoints and failures in closed form.
#include "workload/training/routine.h"

#include <gtest/gtest.h>

#include <numeric>

namespace tulle::workload {
namespace {

constexpr base::Duration seconds(int64_t count) {
    return {count * 1'000'000'000'000};
}

// The last norm is nobody's.
uint64_t parameters_of_ranks(const Model& model) {
    return parameters(model) - model.hidden;
}

TEST(a_checkpoint, has_so_many_bytes_a_parameter_of_the_model) {
    StepOptions options;
    options.model = *find_model("llama3-8b");
    options.checkpoint.bytes_per_parameter = 14;
    options.layout.data = 8;
    options.layout.sequence = 8192;
    const auto bytes = checkpoint_bytes(options);
    ASSERT_EQ(bytes.size(), 8u);
    EXPECT_EQ(std::accumulate(bytes.begin(), bytes.end(), uint64_t{0}),
              14 * parameters_of_ranks(options.model));
}

// MLPerf Storage: 8B 105 GB over 8 processes, 70B 912 GB over 64, 405B 5.29 TB over 512. Those are
// between 12.9 and 13.1 bytes a parameter.
TEST(a_checkpoint, is_about_as_large_as_mlperf_storage_says) {
    const std::pair<const char*, double> known[] = {
        {"llama3-8b", 105e9}, {"llama3-70b", 912e9}, {"llama3-405b", 5.29e12}};
    for (const auto& [name, size] : known) {
        StepOptions options;
        options.model = *find_model(name);
        options.layout.sequence = 8192;
        options.checkpoint.bytes_per_parameter = 14;
        const auto found = static_cast<double>(checkpoint_bytes(options).front());
        EXPECT_NEAR(found / size, 1, 0.1) << name;
    }
}

TEST(a_checkpoint, of_experts_is_shared_out_by_those_that_have_the_same) {
    StepOptions options;
    options.model = *find_model("mixtral-8x7b");
    options.checkpoint.bytes_per_parameter = 16;
    options.layout.data = 16;
    options.layout.expert = 8;
    options.layout.sequence = 4096;
    const auto bytes = checkpoint_bytes(options);
    EXPECT_EQ(std::accumulate(bytes.begin(), bytes.end(), uint64_t{0}),
              16 * parameters_of_ranks(options.model));
}

TEST(a_month, is_what_the_published_formula_says) {
    // 1000 servers at 6.5 failures per 1000 days, restart 600 s, hourly, 60 s to save:
    // 1 - 6.5 x (600 + 1800) / 86400 = 0.819444, over 1 + 60 / 3600: 0.806011.
    Failures failures{6500, "", seconds(600), seconds(3600), {}, 1000};
    EXPECT_NEAR(static_cast<double>(training_share_ppm(failures, seconds(60))), 806'011, 2);
    EXPECT_EQ(failures_per_month_permille(failures), 195'000u);
    // The root of 2 x 60 x 86400 / 6.5: 1262.9 s.
    EXPECT_NEAR(static_cast<double>(best_interval(failures, seconds(60)).ps) / 1e12, 1262.9, 0.1);
    failures.servers = 1'000'000;
    EXPECT_EQ(training_share_ppm(failures, seconds(60)), 0u);
}

// Young's interval is the best of those around it.
TEST(a_month, is_longest_with_the_best_interval) {
    Failures failures{2340, "", seconds(300), seconds(3600), {}, 2048};
    const base::Duration best = best_interval(failures, seconds(30));
    failures.interval = best;
    const uint64_t share = training_share_ppm(failures, seconds(30));
    for (const int64_t percent : {80, 125}) {
        failures.interval = best * percent / 100;
        EXPECT_LT(training_share_ppm(failures, seconds(30)), share);
    }
}

}  // namespace
}  // namespace tulle::workload
