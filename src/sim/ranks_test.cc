// Programs in time: what begins when, on which network, and that partitions do not matter.
#include <gtest/gtest.h>

#include "sim/testing.h"
#include "topology/builders.h"

namespace tulle::sim {
namespace {

using workload::Task;
using workload::Tier;

constexpr Duration kReaction{700'000};
constexpr Duration kSend{300'000};
constexpr Duration kReceive{200'000};

Setup star(uint32_t hosts) {
    Setup setup;
    setup.fabric_name = "star";
    setup.graph = *topology::build(topology::Star{hosts});
    setup.host.reaction = kReaction;
    setup.host.send_latency = kSend;
    setup.host.receive_latency = kReceive;
    for (uint32_t i = 0; i < hosts; ++i) setup.ranks.push_back({i});
    setup.program.jobs = {{.name = "job"}};
    setup.program.phases = {{.name = "first"}, {.name = "second"}};
    return setup;
}

Task message(uint32_t rank, uint32_t peer, uint64_t bytes, uint32_t phase = 0) {
    return {.rank = rank, .peer = peer, .phase = phase, .bytes = bytes};
}

uint32_t add(Setup& setup, const Task& task, std::vector<uint32_t> needs = {}) {
    return setup.program.add(task, needs);
}

using testing::run;

Duration length(const PhaseResult& phase) {
    return phase.end - phase.begin;
}

TEST(Ranks, a_message_takes_its_reaction_and_latencies) {
    auto setup = star(2);
    add(setup, message(0, 1, 64));
    add(setup, message(1, 0, 64, 1), {0});
    const Result result = run(setup);
    ASSERT_TRUE(result.phases[0].finished && result.phases[1].finished);
    EXPECT_EQ(result.phases[1].begin, result.phases[0].end);
    EXPECT_EQ(length(result.phases[0]), length(result.phases[1]));
    EXPECT_GT(length(result.phases[0]), kReaction + kSend + kReceive);
    EXPECT_EQ(result.message_latency.count(), 2u);
    EXPECT_EQ(result.message_latency.max(),
              static_cast<uint64_t>((length(result.phases[0]) - kReaction).ps));
    EXPECT_EQ(result.end, Result::End::done);
}

TEST(Ranks, a_task_waits_for_all_that_it_needs) {
    auto setup = star(3);
    const uint32_t small = add(setup, message(0, 2, 64));
    const uint32_t large = add(setup, message(1, 2, 1'000'000));
    add(setup, message(2, 0, 64, 1), {small, large});
    const Result result = run(setup);
    EXPECT_EQ(result.phases[1].begin, result.phases[0].end);
    EXPECT_EQ(result.phases[0].messages, 2u);
}

TEST(Ranks, computing_takes_its_time_and_no_network) {
    auto setup = star(2);
    const Duration step{250'000'000'000};  // longer than any timer of the transport waits
    const uint32_t compute =
        add(setup, {.kind = Task::Kind::compute, .rank = 1, .phase = 0, .duration = step});
    add(setup, message(1, 0, 64, 1), {compute});
    const Result result = run(setup);
    ASSERT_TRUE(result.phases[1].finished);
    EXPECT_EQ(length(result.phases[0]), step);
    EXPECT_EQ(result.phases[1].begin, Instant{} + step);
}

TEST(Ranks, software_of_a_message_replaces_the_reaction) {
    auto setup = star(2);
    Task task = message(0, 1, 64);
    const uint32_t first = add(setup, task);
    task = message(1, 0, 64, 1);
    task.duration = kReaction + Duration{5'000'000};
    add(setup, task, {first});
    const Result result = run(setup);
    EXPECT_EQ(length(result.phases[1]), length(result.phases[0]) + Duration{5'000'000});
}

TEST(Ranks, messages_that_take_turns_are_as_far_apart_as_their_software_takes) {
    const auto time = [](uint32_t messages, bool is_in_turn) {
        auto setup = star(2);
        Task task = message(0, 1, 64);
        task.duration = Duration{5'000'000};
        task.is_in_turn = is_in_turn;
        for (uint32_t i = 0; i < messages; ++i) add(setup, task);
        return length(run(setup).phases[0]);
    };
    EXPECT_EQ(time(1, true), time(1, false));
    EXPECT_EQ(time(8, true), time(1, true) + Duration{7 * 5'000'000});
    EXPECT_LT(time(8, false), time(1, false) + Duration{1'000'000});
}

TEST(Ranks, a_slow_rank_computes_and_reacts_later) {
    const auto lengths = [](uint32_t compute, uint32_t reaction) {
        auto setup = star(2);
        setup.ranks[0].compute_permille = compute;
        setup.ranks[0].reaction_permille = reaction;
        const Duration step{2'000'000};
        const uint32_t done =
            add(setup, {.kind = Task::Kind::compute, .rank = 0, .phase = 0, .duration = step});
        add(setup, message(0, 1, 64, 1), {done});
        const Result result = run(setup);
        return std::pair(length(result.phases[0]), length(result.phases[1]));
    };
    const auto usual = lengths(1000, 1000);
    EXPECT_EQ(lengths(1500, 1000).first, usual.first + Duration{1'000'000});
    EXPECT_EQ(lengths(1000, 3000).second, usual.second + kReaction * 2);
    EXPECT_EQ(lengths(1000, 3000).first, usual.first);
}

// What arrives is for one of the ranks at the adapter, and only that one goes on.
TEST(Ranks, may_share_an_adapter) {
    auto setup = star(2);
    setup.ranks = {{0}, {0}, {1}, {1}};
    setup.program.phases.push_back({.name = "third"});
    const uint32_t to_2 = add(setup, message(0, 2, 64));
    const uint32_t to_3 = add(setup, message(1, 3, 1'000'000, 1));
    add(setup, message(2, 0, 64, 2), {to_2});
    add(setup, message(3, 1, 64, 1), {to_3});
    const Result result = run(setup);
    for (const PhaseResult& phase : result.phases) EXPECT_TRUE(phase.finished);
    EXPECT_EQ(result.phases[2].begin, result.phases[0].end);
    EXPECT_EQ(run(setup, 2).hash, result.hash);
}

TEST(Ranks, a_rank_that_fetches_knows_when_it_has_all) {
    auto setup = star(2);
    Task fetch = message(0, 1, 100'000);
    fetch.kind = Task::Kind::read;
    const uint32_t fetched = add(setup, fetch);
    add(setup, message(0, 1, 16, 1), {fetched});
    const Result result = run(setup);
    EXPECT_TRUE(result.phases[1].finished);
    EXPECT_EQ(result.phases[1].begin, result.phases[0].end);
}

TEST(Ranks, messages_inside_a_server_take_its_own_network) {
    auto setup = star(2);
    auto inside = std::make_shared<sim::Setup>(star(2));
    inside->program = {};
    inside->host.service = Service::unreliable;
    inside->fabric.flow_control = fabric::FlowControl::credits;
    setup.scale_up = inside;
    setup.ranks = {{0, 1}, {1, 0}};
    Task up = message(0, 1, 100'000);
    up.tier = Tier::scale_up;
    const uint32_t arrived = add(setup, up);
    add(setup, message(1, 0, 64, 1), {arrived});
    const Result result = run(setup);
    ASSERT_TRUE(result.phases[1].finished);
    ASSERT_NE(result.scale_up, nullptr);
    EXPECT_EQ(result.scale_up->totals.data_packets, 25u);
    EXPECT_EQ(result.scale_up->totals.control_packets, 0u);
    EXPECT_EQ(result.totals.data_packets, 1u);
    EXPECT_EQ(result.scale_up->message_latency.count(), 1u);
}

// Two servers of three; all that is sent goes through the switch of each.
TEST(Ranks, a_switch_adds_up_for_one_rank_and_copies_to_all) {
    auto setup = star(6);
    auto inside = std::make_shared<sim::Setup>(star(6));
    inside->program = {};
    inside->graph = *topology::build(topology::Islands{2, 3});
    inside->host.service = Service::unreliable;
    inside->fabric.flow_control = fabric::FlowControl::credits;
    inside->fabric.node.reduction = true;
    setup.scale_up = inside;
    for (uint32_t i = 0; i < 6; ++i) setup.ranks[i].scale_up = i;
    for (uint32_t server = 0; server < 2; ++server) {
        const uint32_t owner = 3 * server + 1;
        const uint32_t sum = setup.program.size();
        for (uint32_t i = 0; i < 3; ++i) {
            Task part = message(3 * server + i, owner, 100'000);
            part.kind = Task::Kind::contribute;
            part.tier = Tier::scale_up;
            part.reduction = sum;
            add(setup, part);
        }
        Task copies = message(owner, 0, 100'000, 1);
        copies.kind = Task::Kind::multicast;
        copies.tier = Tier::scale_up;
        const uint32_t copied = add(setup, copies, {sum});
        // Each rank knows of its own copy.
        for (uint32_t i = 0; i < 3; ++i)
            add(setup, message(3 * server + i, (3 * server + i + 1) % 6, 10, 1), {copied});
    }
    const Result result = run(setup);
    ASSERT_TRUE(result.phases[0].finished && result.phases[1].finished) << result.stuck_reason;
    EXPECT_EQ(result.scale_up->totals.data_packets, 2u * 4 * 25);
    EXPECT_EQ(result.scale_up->totals.reduced, 2u * 2 * 25);
    EXPECT_EQ(result.scale_up->totals.delivered, 2u * (1 + 3) * 25);
    EXPECT_EQ(result.totals.data_packets, 6u);
    EXPECT_GE(result.phases[1].begin, result.phases[0].end);
    for (const size_t partitions : {2, 4}) EXPECT_EQ(run(setup, partitions).hash, result.hash);
}

// A server of two whose switch adds up and copies.
Setup server_of_two() {
    auto setup = star(2);
    auto inside = std::make_shared<sim::Setup>(star(2));
    inside->program = {};
    inside->graph = *topology::build(topology::Islands{1, 2});
    inside->host.service = Service::unreliable;
    inside->fabric.flow_control = fabric::FlowControl::credits;
    inside->fabric.node.reduction = true;
    setup.scale_up = inside;
    setup.ranks = {{0, 0}, {1, 1}};
    return setup;
}

Task copies_of(uint32_t rank, uint64_t bytes) {
    Task copies = message(rank, rank, bytes);
    copies.kind = Task::Kind::multicast;
    copies.tier = Tier::scale_up;
    return copies;
}

// It sees twice that its message is out: when it was sent, and as a copy of its own.
TEST(Ranks, who_sends_copies_waits_for_its_own_and_for_all_else) {
    auto setup = server_of_two();
    const uint32_t copied = add(setup, copies_of(0, 64));
    const uint32_t large = add(setup, message(1, 0, 1'000'000));
    add(setup, message(0, 1, 64, 1), {copied, large});
    const Result result = run(setup);
    ASSERT_TRUE(result.phases[1].finished);
    EXPECT_EQ(result.phases[1].begin, result.phases[0].end);
}

TEST(Ranks, who_sends_copies_goes_on_when_its_own_has_come) {
    auto setup = server_of_two();
    const uint32_t copied = add(setup, copies_of(0, 64));
    add(setup, message(0, 1, 64, 1), {copied});
    const Result result = run(setup);
    ASSERT_TRUE(result.phases[1].finished);
    EXPECT_EQ(result.phases[1].begin, result.phases[0].end);
}

// Rank 0 has its part of the second sum before that of the first, and rank 1 has both at once. The
// switch adds up what has one PSN.
TEST(Ranks, those_who_add_up_send_in_the_order_of_the_program) {
    auto setup = server_of_two();
    const uint32_t late =
        add(setup, {.kind = Task::Kind::compute, .duration = Duration{50'000'000}});
    std::vector<uint32_t> sums;
    for (const uint64_t bytes : {100'000u, 5'000u}) {
        sums.push_back(setup.program.size());
        for (uint32_t rank = 0; rank < 2; ++rank) {
            Task part = message(rank, 1, bytes);
            part.kind = Task::Kind::contribute;
            part.tier = Tier::scale_up;
            part.reduction = sums.back();
            const bool waits = rank == 0 && sums.size() == 1;
            add(setup, part, waits ? std::vector{late} : std::vector<uint32_t>{});
        }
    }
    add(setup, message(1, 0, 64, 1), sums);
    const Result result = run(setup);
    ASSERT_TRUE(result.phases[1].finished) << result.stuck_reason;
    EXPECT_EQ(result.scale_up->message_latency.count(), 2u);
    EXPECT_GT(result.phases[1].begin, Instant{} + Duration{50'000'000});
}

TEST(Ranks, a_phase_without_anything_to_do_ends_when_it_begins) {
    auto setup = star(2);
    const Instant start{5'000'000};
    setup.program.jobs[0].start = start;
    add(setup, {.kind = Task::Kind::compute});
    add(setup, message(0, 1, 64, 1), {0});
    const Result result = run(setup);
    ASSERT_TRUE(result.phases[0].finished);
    EXPECT_EQ(result.phases[0].begin, start);
    EXPECT_EQ(result.phases[0].end, start);
}

TEST(Ranks, a_network_that_adds_nothing_up_is_not_asked_to) {
    auto setup = star(2);
    auto inside = std::make_shared<sim::Setup>(star(2));
    inside->program = {};
    setup.scale_up = inside;
    setup.ranks = {{0, 0}, {1, 1}};
    Task part = message(0, 1, 100);
    part.kind = Task::Kind::contribute;
    part.tier = Tier::scale_up;
    part.reduction = 0;
    add(setup, part);
    const auto built = Simulation::build(setup, 1);
    ASSERT_FALSE(built);
    EXPECT_NE(built.error().message.find("another algorithm"), std::string::npos);
}

TEST(Ranks, without_gpudirect_copies_wait_for_each_other) {
    auto setup = star(2);
    add(setup, message(0, 1, 440'000));
    const Duration direct = length(run(setup).phases[0]);
    setup.host.staging = {.is_on = true, .latency = {1'000'000}, .cpu_per_copy = {500'000}};
    const Result staged = run(setup);
    const Duration copy = Duration{1'000'000} + setup.host.staging.rate.time_for(440'000);
    EXPECT_EQ(length(staged.phases[0]), direct + copy + copy);
    EXPECT_EQ(staged.cpu, Duration{1'000'000});
    add(setup, message(0, 1, 440'000));
    EXPECT_EQ(length(run(setup).phases[0]), direct + copy + copy + copy);
}

TEST(Ranks, a_message_that_fails_is_named) {
    auto setup = star(2);
    setup.host.ack_timeout = 1;
    setup.host.retry_count = 1;
    setup.faults = {{Fault::Kind::cable_down, Instant{}, 1}};
    add(setup, message(0, 1, 64));
    const Result result = run(setup);
    EXPECT_EQ(result.end, Result::End::stuck);
    EXPECT_NE(result.stuck_reason.find("from rank 0 to rank 1 in first"), std::string::npos)
        << result.stuck_reason;
}

// Timers of that network may be the longest.
TEST(Ranks, a_message_that_was_lost_inside_a_server_has_time_to_be_sent_again) {
    constexpr Duration kOneMillisecond{1'000'000'000};
    auto setup = star(2);
    setup.host.ack_timeout = 0;
    auto inside = std::make_shared<sim::Setup>(star(2));
    inside->program = {};
    inside->host.ack_timeout = 16;  // 268 ms
    inside->faults = {{Fault::Kind::cable_down, Instant{}, 1},
                      {Fault::Kind::cable_up, Instant{} + kOneMillisecond * 150, 1}};
    setup.scale_up = inside;
    setup.ranks = {{0, 0}, {1, 1}};
    Task up = message(0, 1, 64);
    up.tier = Tier::scale_up;
    add(setup, up);
    const Result result = run(setup);
    EXPECT_TRUE(result.phases[0].finished) << result.stuck_reason;
    EXPECT_EQ(result.scale_up->totals.retransmitted, 1u);
}

// Around a ring, each to the host two switches on.
TEST(Ranks, messages_that_wait_in_a_circle_are_named) {
    auto setup = star(5);
    setup.graph = *topology::build(topology::Ring{5, 1});
    setup.fabric.flow_control = fabric::FlowControl::credits;
    setup.fabric.credits.lane_buffer_bytes = 16 << 10;
    setup.host.ack_timeout = 0;
    for (uint32_t rank = 0; rank < 5; ++rank) add(setup, message(rank, (rank + 2) % 5, 4'000'000));
    const Result result = run(setup);
    EXPECT_EQ(result.end, Result::End::stuck);
    EXPECT_EQ(result.deadlock.size(), 5u);
}

TEST(Ranks, partitions_do_not_matter) {
    auto setup = star(5);
    std::vector<uint32_t> last;
    for (uint32_t round = 0; round < 20; ++round)
        for (uint32_t rank = 0; rank < 5; ++rank) {
            std::vector<uint32_t> needs;
            if (round > 0) needs.push_back(last[last.size() - 5 - rank + (rank + 4) % 5]);
            last.push_back(
                add(setup, message(rank, (rank + 1) % 5, 3'000 * (rank + round)), needs));
        }
    const Result alone = run(setup);
    ASSERT_TRUE(alone.phases[0].finished);
    for (const size_t partitions : {2, 3, 5}) EXPECT_EQ(run(setup, partitions).hash, alone.hash);
}

TEST(Ranks, a_rank_that_reacts_in_no_time_is_refused) {
    auto setup = star(2);
    setup.host.reaction = {};
    add(setup, message(0, 1, 64));
    const auto built = Simulation::build(setup, 1);
    ASSERT_FALSE(built);
    EXPECT_NE(built.error().message.find("hosts.reaction"), std::string::npos);
}

TEST(Ranks, a_read_over_an_unreliable_connection_is_refused) {
    auto program = star(2);
    program.host.service = Service::unreliable;
    auto flows = program;
    workload::Task task = message(0, 1, 64);
    task.kind = workload::Task::Kind::read;
    add(program, task);
    Flow flow;
    flow.destination = 1;
    flow.bytes = 64;
    flow.operation = Verb::read;
    flows.flows.push_back(flow);
    for (const sim::Setup& setup : {program, flows}) {
        const auto built = Simulation::build(setup, 1);
        ASSERT_FALSE(built);
        EXPECT_NE(built.error().message.find("hosts.service"), std::string::npos);
    }
}

}  // namespace
}  // namespace tulle::sim
