// What the swarm of fabrics (tests/fabric_swarm) found, one rule a test.
#include <gtest/gtest.h>

#include "sim/testing.h"
#include "topology/builders.h"

namespace tulle::sim {
namespace {

constexpr Duration microseconds(int64_t count) {
    return {count * 1'000'000};
}

Setup star(uint32_t hosts) {
    Setup setup;
    setup.graph = *topology::build(topology::Star{hosts});
    return setup;
}

Flow flow(uint32_t source, uint32_t destination, uint64_t bytes, Verb operation = Verb::write) {
    Flow flow;
    flow.source = source;
    flow.destination = destination;
    flow.bytes = bytes;
    flow.operation = operation;
    return flow;
}

using testing::run;

bool all_finished(const Result& result) {
    for (const FlowResult& flow : result.flows)
        if (!flow.finished) return false;
    return true;
}

TEST(Found, a_read_ends_with_its_last_response) {
    auto setup = star(2);
    setup.flows = {flow(0, 1, 10'000, Verb::read)};
    const Result result = run(setup);
    ASSERT_TRUE(all_finished(result));
    EXPECT_LT(result.flows[0].completion, microseconds(10));
}

TEST(Found, many_sends_to_one_host_do_not_overrun_its_completion_queue) {
    auto setup = star(2);
    for (int i = 0; i < 40; ++i) setup.flows.push_back(flow(0, 1, 100, Verb::send));
    EXPECT_TRUE(all_finished(run(setup)));
}

TEST(Found, padding_is_paid_for_in_credits) {
    auto setup = star(3);
    setup.fabric.flow_control = fabric::FlowControl::credits;
    setup.fabric.framing.envelope_bytes = 14;
    setup.fabric.framing.minimum_bytes = 0;
    setup.fabric.link.gap_bytes = 0;
    setup.fabric.credits.update_bytes = 64;
    setup.host.mtu = 256;
    setup.fabric.credits.lane_buffer_bytes = 512;
    for (uint32_t i = 0; i < 30; ++i) {
        setup.flows.push_back(flow(0, 2, 20 + i));
        setup.flows.push_back(flow(1, 2, 200 + i));
    }
    auto built = Simulation::build(setup, 1);
    ASSERT_TRUE(built) << built.error().message;
    Simulation& simulation = **built;
    fabric::Cabling& cabling = simulation.partition(0).cabling();
    Course course(setup, simulation);
    for (; !course.is_over(); course.choose()) {
        simulation.advance(0, course.window());
        for (uint32_t p = 0; p < cabling.ports(); ++p) {
            const fabric::CreditsLeft& left = cabling.out(p, 0).credits;
            const fabric::CreditScale scale = cabling.credit_scale();
            ASSERT_LE(scale.wrapped(uint32_t{left.credit_limit} - left.total_sent),
                      scale.most_blocks())
                << "port " << p << " sent more than it may";
        }
    }
    EXPECT_TRUE(all_finished(simulation.finish(course.end())));
}

TEST(Found, credits_that_would_never_be_renewed_are_refused) {
    auto setup = star(2);
    setup.fabric.flow_control = fabric::FlowControl::credits;
    setup.fabric.credits.update_bytes = 200'000;
    setup.fabric.credits.lane_buffer_bytes = 1 << 20;
    setup.flows = {flow(0, 1, 1 << 20)};
    const auto built = Simulation::build(setup, 1);
    ASSERT_FALSE(built);
    EXPECT_NE(built.error().message.find("never comes"), std::string::npos);
}

TEST(Found, a_switch_whose_queues_take_no_packet_is_refused) {
    auto setup = star(2);
    setup.host.mtu = 4096;
    setup.fabric.node.buffer_bytes = 20'000;
    setup.fabric.pfc.alpha_numerator = 3;
    setup.fabric.pfc.alpha_denominator = 16;  // 3,750 bytes
    setup.flows = {flow(0, 1, 1 << 20)};
    const auto built = Simulation::build(setup, 1);
    ASSERT_FALSE(built);
    EXPECT_NE(built.error().message.find("an empty queue of switch0 cannot take a packet"),
              std::string::npos)
        << built.error().message;
    setup.fabric.pfc.alpha_numerator = 4;
    EXPECT_TRUE(Simulation::build(setup, 1));
}

TEST(Found, a_pause_holds_up_the_lane_that_the_dscp_names) {
    auto setup = star(3);
    setup.fabric.flow_control = fabric::FlowControl::pfc;
    setup.fabric.pfc.priorities = 1 << 3;
    setup.fabric.qos.trust = fabric::Trust::dscp;
    setup.fabric.qos.lane_of_dscp[26] = 3;
    setup.fabric.node.buffer_bytes = 200'000;
    setup.flows = {flow(0, 2, 1'000'000), flow(1, 2, 1'000'000)};
    for (Flow& each : setup.flows) each.traffic_class = 26 << 2;  // its service level is 0
    const Result result = run(setup);
    EXPECT_TRUE(all_finished(result));
    EXPECT_GT(result.totals.pause_frames, 0u);
    EXPECT_EQ(result.totals.retransmitted, 0u);
}

TEST(Found, room_of_the_management_lane_is_given_back) {
    auto setup = star(2);
    setup.fabric.flow_control = fabric::FlowControl::credits;
    setup.fabric.node.buffer_bytes = 100'000;
    setup.flows = {flow(0, 1, 1'000'000)};
    setup.flows[0].service_level = 15;
    const Result result = run(setup);
    EXPECT_TRUE(all_finished(result));
    EXPECT_EQ(result.totals.retransmitted, 0u);
}

TEST(Found, a_storm_pauses_only_priorities_that_exist) {
    auto setup = star(2);
    setup.fabric.flow_control = fabric::FlowControl::pfc;
    setup.fabric.pfc.priorities = 0xff;  // but flows use one
    setup.flows = {flow(0, 1, 100'000)};
    setup.faults = {{Fault::Kind::pause_storm, Instant{}, 1},
                    {Fault::Kind::pause_storm_end, Instant{} + microseconds(100), 1}};
    EXPECT_TRUE(all_finished(run(setup)));
}

TEST(Found, a_storm_without_an_end_does_not_keep_the_run_from_ending) {
    auto setup = star(2);
    setup.fabric.flow_control = fabric::FlowControl::pfc;
    setup.fabric.pfc.priorities = 1;
    setup.host.ack_timeout = 0;
    setup.flows = {flow(0, 1, 100'000)};
    setup.faults = {{Fault::Kind::pause_storm, Instant{}, 1}};
    const Result result = run(setup);
    EXPECT_EQ(result.end, Result::End::stuck);
    EXPECT_FALSE(result.stuck_reason.empty());
    for (const LinkResult& link : result.links) EXPECT_GE(link.paused.ps, 0);
}

// Tables may be written long after that, and nothing else happens until then.
TEST(Found, work_that_was_done_long_before_the_stop_ends_the_run) {
    auto setup = star(3);
    setup.flows = {flow(0, 2, 100'000)};
    setup.fabric.route.reroute_delay = Duration{10'000'000'000'000};
    setup.faults = {{Fault::Kind::cable_down, Instant{} + microseconds(2), 1}};
    setup.stop = Instant{} + Duration{1'000'000'000'000};
    const Result result = run(setup);
    EXPECT_EQ(result.end, Result::End::done);
    EXPECT_LT(result.time, Instant{} + microseconds(1'000));
}

TEST(Found, a_stuck_run_lasts_until_the_last_thing_that_happened) {
    auto setup = star(3);
    setup.flows = {flow(0, 2, 100'000)};
    setup.host.ack_timeout = 0;
    setup.faults = {{Fault::Kind::cable_down, Instant{} + microseconds(2), 2}};
    const Result result = run(setup);
    EXPECT_EQ(result.end, Result::End::stuck);
    EXPECT_GT(result.time, Instant{} + microseconds(2)) << "something happened then";
}

TEST(Found, a_cable_stays_down_while_its_switch_does) {
    auto setup = star(2);
    setup.host.ack_timeout = 0;
    setup.flows = {flow(0, 1, 1'000)};
    setup.flows[0].start = Instant{} + microseconds(30);
    setup.faults = {{Fault::Kind::cable_down, Instant{} + microseconds(1), 0},
                    {Fault::Kind::switch_down, Instant{} + microseconds(2), 2},
                    {Fault::Kind::switch_up, Instant{} + microseconds(3), 2}};
    EXPECT_EQ(run(setup).totals.delivered, 0u) << "the cable itself is still broken";
    setup.faults.push_back({Fault::Kind::cable_up, Instant{} + microseconds(4), 0});
    EXPECT_TRUE(all_finished(run(setup)));
}

TEST(Found, headroom_of_a_host_covers_its_own_latency) {
    auto setup = star(2);
    setup.fabric.flow_control = fabric::FlowControl::pfc;
    setup.fabric.pfc.priorities = 1;
    setup.host.receive_latency = microseconds(20);
    setup.host.receive_buffer_bytes = 50'000;
    setup.flows = {flow(0, 1, 4'000'000)};
    setup.faults = {
        {Fault::Kind::slow_receiver, Instant{}, 1, base::Rate::bits_per_second(10'000'000'000)}};
    const Result result = run(setup);
    EXPECT_EQ(result.totals.dropped[static_cast<size_t>(Drop::headroom_full)], 0u);
    EXPECT_TRUE(all_finished(result));
}

}  // namespace
}  // namespace tulle::sim
