// One rail and bursts that are simulated instead of all rails and packets.
#include "scenario/stand_ins.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "base/random.h"
#include "scenario/alike_rails.h"
#include "scenario/files_test.h"
#include "scenario/scenario.h"
#include "scenario/training.h"

namespace tulle::scenario {
namespace {

constexpr const char* kRail = "rail:servers=4,rails=4,group=2";
constexpr const char* kTree = "all_reduce: {bytes: 16MiB, algorithm: tree}";

sim::Setup setup_of(const std::string& topology, const std::string& work,
                    const std::string& more = "", uint64_t most_packets = UINT64_MAX) {
    Overrides overrides;
    overrides.skips = true;
    overrides.most_packets = most_packets;
    const std::string text =
        "topology: " + topology + "\nprofile: ib-ndr\ngpus: {scale_up: nvlink4" +
        (more.starts_with(",") ? more + "}\n" : "}\n" + more) + "work:\n  - " + work + "\n";
    auto setup = read_scenario(text, "s.yaml", files_in_memory({}), overrides);
    EXPECT_TRUE(setup.ok()) << setup.error().message;
    return setup ? *setup : sim::Setup{};
}

// Nothing on InfiniBand depends on chance, so a rail meets what it always meets.
TEST(stand_ins, one_rail_takes_the_time_of_all_to_the_picosecond) {
    const sim::Setup all = setup_of(kRail, kTree);
    sim::Setup some = all;
    ASSERT_EQ(alike_rails(some), 4u);
    fold_rails(some);
    EXPECT_LT(some.program.task_count(), all.program.task_count());
    const base::Duration found = time_alone(some, some.program);
    EXPECT_GT(found, base::Duration{});
    EXPECT_EQ(found, time_alone(all, all.program));
}

TEST(stand_ins, rails_that_differ_are_all_simulated) {
    const auto rails_of = [](const std::string& topology, const std::string& work,
                             const std::string& more = "") {
        return alike_rails(setup_of(topology, work, more));
    };
    EXPECT_EQ(rails_of(kRail, kTree), 4u);
    EXPECT_EQ(rails_of("rail:servers=4,rails=4,group=2,storage=2", kTree), 1u);
    EXPECT_EQ(rails_of("fat-tree:k=4", kTree, ", per_server: 4"), 1u);
    EXPECT_EQ(rails_of(kRail, "all_reduce: {bytes: 16MiB, algorithm: ring}"), 1u);
    EXPECT_EQ(rails_of(kRail, "broadcast: {bytes: 16MiB, algorithm: tree}"), 1u);
    EXPECT_EQ(rails_of(kRail, "all_reduce: {bytes: 16MiB, algorithm: tree, channels: 2}"), 1u);
    EXPECT_EQ(rails_of(kRail, kTree, ", slow: [{gpus: [3], reaction: 4}]"), 1u);
    EXPECT_EQ(rails_of(kRail, kTree, "tenants: [{name: a, hosts: [0-15]}]\n"), 1u);
}

TEST(stand_ins, are_taken_by_work_of_many_packets_with_a_measured_error) {
    EXPECT_EQ(setup_of(kRail, kTree).stand_ins.rails, 1u);
    // 2 x 15 x 4,096 packets, a quarter of them on one rail.
    const sim::Setup some = setup_of(kRail, kTree, "", 122'879);
    EXPECT_EQ(some.stand_ins.rails, 4u);
    EXPECT_EQ(some.stand_ins.packets, 1u);
    EXPECT_EQ(some.stand_ins.doubt_per_million, 0);
    const sim::Setup fewer = setup_of(kRail, kTree, "", 30'719);
    EXPECT_EQ(fewer.stand_ins.rails, 4u);
    EXPECT_GT(fewer.stand_ins.packets, 1u);
    EXPECT_GE(fewer.stand_ins.doubt_per_million, 10'000);
    EXPECT_EQ(setup_of(kRail, kTree, "", 122'880).stand_ins.rails, 1u);
}

// One run of each kind says how far they are apart. Of three, both means are 1000 and the variance
// of all is 100, so two more runs are apart by 2.776 times the square root of 2 x 100 x 4/3.
TEST(stand_ins, the_estimated_error_covers_two_more_runs) {
    EXPECT_EQ(doubt_of(std::array<int64_t, 1>{980}, std::array<int64_t, 1>{1000}), 20'000);
    const std::array<int64_t, 3> spread = {990, 1000, 1010};
    EXPECT_EQ(doubt_of(spread, spread), 45'332);
    const std::array<int64_t, 3> slower = {1090, 1100, 1110};
    EXPECT_EQ(doubt_of(slower, spread), 145'332);
}

// Draws from one distribution, so only chance makes runs differ: 19 of 20 times less than is said.
TEST(stand_ins, the_estimated_error_is_exceeded_once_in_twenty_times) {
    base::RandomStream random({.seed = 95});
    const auto draw = [&] {  // nearly normal: the sum of twelve even draws
        int64_t sum = 1'000'000;
        for (int i = 0; i < 12; ++i) sum += static_cast<int64_t>(random.below(10'000));
        return sum;
    };
    constexpr int kTimes = 4000;
    int exceeded = 0;
    for (int i = 0; i < kTimes; ++i) {
        const std::array<int64_t, 3> found = {draw(), draw(), draw()};
        const std::array<int64_t, 3> full = {draw(), draw(), draw()};
        const int64_t mean = (full[0] + full[1] + full[2]) / 3;
        const int64_t apart = draw() - draw();
        exceeded += std::abs(apart) > doubt_of(found, full) * mean / 1'000'000 ? 1 : 0;
    }
    EXPECT_LT(exceeded, kTimes / 20);
    EXPECT_GT(exceeded, kTimes / 200);
}

}  // namespace
}  // namespace tulle::scenario
