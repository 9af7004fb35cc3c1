#include "workload/job.h"

#include <gtest/gtest.h>

#include "workload/collectives/collective.h"
#include "workload/testing.h"

namespace tulle::workload {
namespace {

using testing::Model;
using testing::servers;

bool is_seen_in(const Placement& placement, const Task& task, uint32_t rank) {
    if (task.kind != Task::Kind::multicast) return is_seen_by(task, rank);
    return placement.server_of(task.rank) == placement.server_of(rank);
}

// All algorithms after each other, on two servers of three; ranks are members.
Program long_job(const Placement& placement) {
    Program program;
    JobBuilder job(program, {}, placement);
    for (const Collective collective :
         {Collective::broadcast, Collective::all_reduce, Collective::reduce_scatter,
          Collective::all_gather, Collective::all_to_all})
        for (const Algorithm algorithm : algorithms_of(collective)) {
            CollectiveOptions options;
            options.collective = collective;
            options.algorithm = algorithm;
            options.bytes = 100;
            options.chunking.chunk = 16;
            options.in_switch = algorithm == Algorithm::two_level;
            if (check(options, placement)) continue;
            job.compute("think", base::Duration{1000});
            append(job, "", options);
        }
    job.end();
    return program;
}

TEST(jobs, a_rank_begins_a_phase_when_it_has_ended_those_before) {
    for (const Placement& placement : {servers(2, 3), servers(1, 4), servers(5, 1)}) {
        const Program program = long_job(placement);
        ASSERT_FALSE(program.check(placement.size()));
        for (uint64_t seed = 0; seed < 5; ++seed) {
            Model model(program, {}, placement, seed);
            model.on_start = [&](uint32_t started) {
                const Task& task = program[started];
                for (uint32_t t = 0; t < program.size(); ++t) {
                    const Task& other = program[t];
                    if (other.phase >= task.phase) break;
                    if (other.is_part_of_sum() && other.reduction != t && other.rank != task.rank)
                        continue;  // only the first of a reduction is seen by its owner
                    if (!is_seen_in(placement, other, task.rank)) continue;
                    ASSERT_TRUE(model.has_seen(task.rank, t)) << started << " before " << t;
                }
            };
            model.run();
        }
    }
}

TEST(jobs, a_rank_may_be_a_phase_ahead_of_others) {
    Program program;
    const Placement placement = servers(3, 1);
    JobBuilder job(program, {}, placement);
    CollectiveOptions options;
    options.collective = Collective::broadcast;
    options.bytes = 10;
    append(job, "", options);
    job.compute("think", base::Duration{1});
    for (uint32_t t = 0; t < program.size(); ++t)
        for (const uint32_t need : program.needs(t))
            EXPECT_TRUE(is_seen_by(program[need], program[t].rank));
    // The root waits for its own message alone, not for the one that the second sends on.
    const uint32_t entry = job.entry(0);
    ASSERT_NE(entry, kNoTask);
    EXPECT_EQ(program[entry].bytes, 10u);
    EXPECT_EQ(program[entry].rank, 0u);
}

TEST(jobs, at_once_do_not_share_channels) {
    Program program;
    JobBuilder first(program, {}, servers(2, 4));
    CollectiveOptions options;
    options.bytes = 1 << 20;
    options.channels = 3;
    append(first, "", options);
    EXPECT_EQ(first.end_channel(), 3u);
    const uint32_t begin = program.size();
    JobBuilder second(program, {}, servers(2, 4), first.end_channel());
    append(second, "", options);
    EXPECT_EQ(second.end_channel(), 6u);
    for (uint32_t t = begin; t < program.size(); ++t)
        EXPECT_TRUE(program[t].kind == Task::Kind::compute || program[t].channel >= 3u);
    EXPECT_EQ(program.phases[1].job, 1u);
}

}  // namespace
}  // namespace tulle::workload
