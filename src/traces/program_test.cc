#include "traces/program.h"

#include <gtest/gtest.h>

#include "workload/trace_job.h"
#include "workload/training/step.h"

namespace tulle::traces {
namespace {

using base::Duration;
using workload::Collective;

struct Hand {
    explicit Hand(uint32_t ranks) {
        trace.ranks.resize(ranks);
        std::vector<uint32_t> all;
        for (uint32_t i = 0; i < ranks; ++i) {
            trace.files.push_back("p." + std::to_string(i) + ".et");
            place.members.push_back({i, i, 0});
            all.push_back(i);
        }
        trace.groups = {{"all", all}};
        place.protocol = workload::Protocol::bare;
        place.most_tasks = 100'000;
    }
    Hand& compute(uint32_t rank, int64_t ps, std::vector<uint32_t> needs = {}) {
        Node node;
        node.kind = Node::Kind::compute;
        node.duration = {ps};
        return add(rank, node, needs);
    }
    Hand& collective(uint32_t rank, uint64_t bytes, std::vector<uint32_t> needs = {},
                     uint32_t group = 0) {
        Node node;
        node.kind = Node::Kind::collective;
        node.bytes = bytes;
        node.group = group;
        return add(rank, node, needs);
    }
    Hand& message(uint32_t rank, Node::Kind kind, uint32_t peer, std::vector<uint32_t> needs = {},
                  uint64_t bytes = 100) {
        Node node;
        node.kind = kind;
        node.peer = peer;
        node.bytes = bytes;
        return add(rank, node, needs);
    }
    Hand& add(uint32_t rank, Node node, const std::vector<uint32_t>& needs) {
        node.id = trace.ranks[rank].size();
        trace.ranks[rank].add(node, needs);
        return *this;
    }
    std::string build() {
        workload::Job job;
        const auto built = append_trace(program, job, trace, place);
        if (!built) return built.error().message;
        const auto wrong = program.check(static_cast<uint32_t>(place.members.size()));
        return wrong ? wrong->message : "";
    }

    Trace trace;
    TracePlace place;
    workload::Program program;
};

constexpr Node::Kind kSends = Node::Kind::send, kReceives = Node::Kind::receive;

TEST(trace_program, computing_of_a_lane_follows_what_is_before_it) {
    Hand hand(2);
    hand.compute(0, 100).compute(0, 50).message(0, kSends, 1, {0}).compute(1, 10);
    hand.message(1, kReceives, 0).compute(1, 30, {1});
    ASSERT_EQ(hand.build(), "");
    const auto ends = workload::ideal_ends(hand.program, 0, 2);
    EXPECT_EQ(ends[0], Duration{150});
    EXPECT_EQ(ends[1], Duration{130});
}

TEST(trace_program, computing_that_waits_for_others_does_not_block_what_others_wait_for) {
    Hand hand(2);
    // Rank 0: node 1 waits for rank 1, which waits for the result of node 2.
    hand.message(0, kReceives, 1).compute(0, 10, {0}).compute(0, 20).message(0, kSends, 1, {2});
    hand.message(1, kReceives, 0).message(1, kSends, 0, {0});
    ASSERT_EQ(hand.build(), "");
    EXPECT_EQ(workload::ideal_ends(hand.program, 0, 2)[0], Duration{30});
}

TEST(trace_program, a_collective_waits_for_all_its_ranks) {
    Hand hand(4);
    for (uint32_t rank = 0; rank < 4; ++rank)
        hand.compute(rank, 100 * rank).collective(rank, 4096, {0}).compute(rank, 7, {1});
    ASSERT_EQ(hand.build(), "");
    for (const Duration end : workload::ideal_ends(hand.program, 0, 4))
        EXPECT_EQ(end, Duration{307});
    EXPECT_EQ(hand.program.jobs[0].trace->collectives, 1u);
    EXPECT_EQ(hand.program.jobs[0].trace->streams[3].size(), 2u);
}

TEST(trace_program, groups_that_share_a_rank_take_other_channels) {
    Hand hand(3);
    hand.trace.groups = {{"a", {0, 1}}, {"b", {1, 2}}};
    hand.collective(0, 4096).collective(1, 4096).collective(1, 4096, {}, 1);
    hand.collective(2, 4096, {}, 1);
    ASSERT_EQ(hand.build(), "");
    std::array<uint16_t, 2> channel{};
    for (const workload::Task& task : hand.program.tasks())
        if (task.kind == workload::Task::Kind::send)
            channel[task.rank == 0 || task.peer == 0 ? 0 : 1] = task.channel;
    EXPECT_NE(channel[0], channel[1]);
}

TEST(trace_program, what_does_not_meet_is_said) {
    EXPECT_EQ(Hand(2).collective(0, 8).build(),
              "p.0.et: node 0 of rank 0: it is collective 1 of group 'all', but rank 1 has only 0 "
              "of that group; all its ranks do the same ones in the same order");
    EXPECT_EQ(Hand(2).collective(0, 8).collective(1, 16).build(),
              "p.1.et: node 0 of rank 1: it is all_reduce of 16 bytes, but rank 0 does all_reduce "
              "of 8 bytes at this place (node 0) of group 'all'; all its ranks do the same");
    EXPECT_EQ(Hand(2).message(0, kSends, 1).build(),
              "p.0.et: node 0 of rank 0: rank 1 never receives its message of tag 0");
    EXPECT_EQ(Hand(2).message(0, kReceives, 1).build(),
              "p.0.et: node 0 of rank 0: rank 1 never sends the message of tag 0 that it receives");
    EXPECT_EQ(Hand(2).message(0, kSends, 1).message(1, kReceives, 0, {}, 9).build(),
              "p.1.et: node 0 of rank 1: it receives 9 bytes, but rank 0 sends 100 (node 0)");
    EXPECT_EQ(Hand(2).compute(0, 5, {1}).compute(0, 5, {0}).build(),
              "p.0.et: node 0 of rank 0: it waits for itself, by way of the nodes that it depends "
              "on");
    Hand circle(2);
    circle.message(0, kReceives, 1).message(0, kSends, 1, {0});
    circle.message(1, kReceives, 0).message(1, kSends, 0, {0});
    EXPECT_NE(circle.build().find("in a circle"), std::string::npos);
}

TEST(trace_program, a_trace_that_is_too_large_is_refused_before_it_is_made) {
    Hand hand(4);
    hand.place.most_tasks = 40;
    for (uint32_t rank = 0; rank < 4; ++rank) hand.collective(rank, 1 << 30);
    EXPECT_NE(hand.build().find("more than 40"), std::string::npos);
}

}  // namespace
}  // namespace tulle::traces
