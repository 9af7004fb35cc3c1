// Hosts of several tenants on one fabric: who reaches whom, who refuses whom, and where.
#include <gtest/gtest.h>

#include "sim/testing.h"
#include "topology/spec.h"

namespace tulle::sim {
namespace {

// Two leaves with three hosts each; hosts 0, 1, 3 are red, 2 and 4 blue, 5 is nobody's.
Setup two_tenants(wire::Encapsulation encapsulation) {
    Setup setup;
    setup.graph = *topology::build_spec("leaf-spine:leaves=2,spines=1,hosts=3");
    setup.fabric.framing.encapsulation = encapsulation;
    setup.host.ack_timeout = 5;  // 131 us
    setup.host.retry_count = 2;
    setup.tenants = {{"red", 0x11, 10, {0, 1, 3}, {}}, {"blue", 0x12, 20, {2, 4}, {}}};
    return setup;
}

Setup with_flow(Setup setup, uint32_t from, uint32_t to) {
    Flow flow;
    flow.source = from;
    flow.destination = to;
    flow.bytes = 10'000;
    setup.flows.push_back(flow);
    return setup;
}

const std::string& refusing_node(const Setup& setup, const Violation& violation) {
    return setup.graph.nodes[violation.node].name;
}

class Tenants : public ::testing::TestWithParam<wire::Encapsulation> {};

TEST_P(Tenants, reach_their_own_hosts_and_nobody_else) {
    const auto setup = two_tenants(GetParam());
    const auto is_allowed = [](uint32_t a, uint32_t b) {
        const auto tenant = [](uint32_t host) {
            return host == 5 ? 0 : host == 2 || host == 4 ? 2 : 1;
        };
        return tenant(a) == tenant(b);
    };
    for (uint32_t a = 0; a < 6; ++a)
        for (uint32_t b = 0; b < 6; ++b) {
            if (a == b) continue;
            const Result result = testing::run(with_flow(setup, a, b));
            EXPECT_EQ(result.flows[0].finished, is_allowed(a, b)) << a << " to " << b;
            EXPECT_EQ(result.violations.empty(), is_allowed(a, b)) << a << " to " << b;
            const auto status =
                is_allowed(a, b) ? transport::Status::success : transport::Status::retry_exceeded;
            EXPECT_EQ(result.flows[0].status, status);
        }
}

TEST_P(Tenants, find_the_same_for_any_number_of_partitions) {
    auto setup = two_tenants(GetParam());
    using Pair = std::pair<uint32_t, uint32_t>;
    for (const auto& [from, to] : {Pair{0, 3}, {0, 4}, {2, 4}, {5, 1}, {4, 0}})
        setup = with_flow(std::move(setup), from, to);
    const Result result = testing::run(setup, 1);
    EXPECT_EQ(result.violations.size(), 3u);
    EXPECT_EQ(testing::run(setup, 2).hash, result.hash);
    EXPECT_EQ(testing::run(setup, 4).hash, result.hash);
}

INSTANTIATE_TEST_SUITE_P(of_both_kinds, Tenants,
                         ::testing::Values(wire::Encapsulation::infiniband_local,
                                           wire::Encapsulation::roce_v2_ipv4,
                                           wire::Encapsulation::roce_v1));

// Three packets of 4,096 bytes at most, sent once and twice again.
TEST(TenantsOfInfiniBand, are_kept_apart_at_the_last_switch_port) {
    const auto setup = with_flow(two_tenants(wire::Encapsulation::infiniband_local), 0, 4);
    const Result result = testing::run(setup);
    ASSERT_EQ(result.violations.size(), 1u);
    EXPECT_EQ(refusing_node(setup, result.violations[0]), "leaf1");
    EXPECT_FALSE(result.violations[0].as_sent);
    EXPECT_EQ(result.violations[0].packets, result.totals.data_packets);
    EXPECT_EQ(result.totals.dropped[static_cast<size_t>(Drop::other_tenant)],
              result.violations[0].packets);
    EXPECT_EQ(result.totals.delivered, 0u);
}

TEST(TenantsOfInfiniBand, are_kept_apart_by_the_adapter_where_switches_do_not_look) {
    auto setup = with_flow(two_tenants(wire::Encapsulation::infiniband_local), 0, 4);
    setup.fabric.node.enforces_partitions = false;
    const Result result = testing::run(setup);
    ASSERT_EQ(result.violations.size(), 1u);
    EXPECT_EQ(refusing_node(setup, result.violations[0]), "h4");
    EXPECT_EQ(result.violations[0].packets, result.totals.delivered);
    EXPECT_EQ(result.totals.dropped[static_cast<size_t>(Drop::other_tenant)], 0u);
    EXPECT_EQ(result.flows[0].status, transport::Status::retry_exceeded);
}

// Reliable datagrams: the key is that of the context, and each end has its own.
TEST(TenantsOfInfiniBand, are_kept_apart_where_messages_share_a_context) {
    auto setup = with_flow(two_tenants(wire::Encapsulation::infiniband_local), 0, 4);
    setup = with_flow(std::move(setup), 0, 3);
    setup.fabric.node.enforces_partitions = false;
    setup.host.service = Service::datagram;
    const Result result = testing::run(setup);
    EXPECT_FALSE(result.flows[0].finished);
    EXPECT_TRUE(result.flows[1].finished);
    ASSERT_EQ(result.violations.size(), 1u);
    EXPECT_EQ(refusing_node(setup, result.violations[0]), "h4");
}

TEST(TenantsOfEthernet, are_kept_apart_at_the_first_switch_port) {
    const auto setup = with_flow(two_tenants(wire::Encapsulation::roce_v2_ipv4), 0, 4);
    const Result result = testing::run(setup);
    ASSERT_EQ(result.violations.size(), 1u);
    EXPECT_EQ(refusing_node(setup, result.violations[0]), "leaf0");
    EXPECT_TRUE(result.violations[0].as_sent);
}

TEST_P(Tenants, may_have_limited_members_that_talk_to_full_ones_alone) {
    auto setup = two_tenants(GetParam());
    setup.tenants[0].full = {0};
    setup.tenants[0].limited = {1, 3};
    EXPECT_TRUE(testing::run(with_flow(setup, 1, 0)).flows[0].finished);
    EXPECT_TRUE(testing::run(with_flow(setup, 0, 3)).flows[0].finished);
    EXPECT_FALSE(testing::run(with_flow(setup, 1, 3)).flows[0].finished);
}

TEST_P(Tenants, may_share_a_host) {
    auto setup = two_tenants(GetParam());
    setup.tenants[0].full = {0, 1, 3, 4};
    EXPECT_TRUE(testing::run(with_flow(setup, 0, 4)).flows[0].finished);
    EXPECT_TRUE(testing::run(with_flow(setup, 2, 4)).flows[0].finished);
    EXPECT_FALSE(testing::run(with_flow(setup, 0, 2)).flows[0].finished);
}

// Four leaves of four hosts: red has two, blue the other two, and they share spines, not ports.
// Blue is listed first, so its flows have the same numbers, and so the same ways, without red.
Setup blue_at_work(wire::Encapsulation encapsulation) {
    Setup setup;
    setup.graph = *topology::build_spec("leaf-spine:leaves=4,spines=2,hosts=4");
    setup.fabric.framing.encapsulation = encapsulation;
    setup.fabric.flow_control = encapsulation == wire::Encapsulation::infiniband_local
                                    ? fabric::FlowControl::credits
                                    : fabric::FlowControl::pfc;
    setup.fabric.pfc.priorities = 1;  // that of all flows
    setup.stop = Instant{} + Duration{5'000'000'000};
    setup.tenants = {{"red", 0x11, 10, {0, 1, 2, 3, 4, 5, 6, 7}, {}},
                     {"blue", 0x12, 20, {8, 9, 10, 11, 12, 13, 14, 15}, {}}};
    for (const auto& [from, to] :
         {std::pair{8u, 12u}, {9u, 12u}, {10u, 12u}, {13u, 9u}, {11u, 15u}})
        setup = with_flow(std::move(setup), from, to);
    for (Flow& flow : setup.flows) flow.bytes = 300'000;
    return setup;
}

// An incast from everywhere, at a host whose adapter storms where there are pauses.
Setup with_red_storm(Setup setup) {
    for (uint32_t from = 1; from < 8; ++from) {
        setup = with_flow(std::move(setup), from, 0);
        setup.flows.back().bytes = 500'000;
    }
    if (setup.fabric.flow_control == fabric::FlowControl::pfc)
        setup.faults = {{Fault::Kind::pause_storm, Instant{} + Duration{5'000'000},
                         setup.graph.endpoints()[0]}};
    return setup;
}

std::vector<Duration> times_of_blue(const Result& result) {
    std::vector<Duration> times;
    for (size_t i = 0; i < 5; ++i) {
        EXPECT_TRUE(result.flows[i].finished);
        times.push_back(result.flows[i].completion);
    }
    return times;
}

TEST_P(Tenants, do_not_change_each_others_times_where_they_share_no_port) {
    const auto alone = blue_at_work(GetParam());
    const auto both = with_red_storm(alone);
    const Result storm = testing::run(both);
    EXPECT_EQ(times_of_blue(storm), times_of_blue(testing::run(alone)));
    EXPECT_TRUE(storm.violations.empty());
    if (both.faults.empty()) return;
    EXPECT_FALSE(storm.flows.back().finished) << "the storm stops red";
}

// The packets of the violation end at a port of InfiniBand's receiver, or of Ethernet's sender,
// that blue does not use.
TEST_P(Tenants, are_not_harmed_by_a_violation) {
    const auto alone = blue_at_work(GetParam());
    auto astray = with_flow(alone, 3, 14);
    astray.flows.back().bytes = 200'000;
    astray.flows.back().start = Instant{} + Duration{1'000'000'000};
    const Result result = testing::run(astray);
    EXPECT_EQ(times_of_blue(result), times_of_blue(testing::run(alone)));
    ASSERT_EQ(result.violations.size(), 1u);
    EXPECT_EQ(result.violations[0].source, 3u);
    EXPECT_EQ(result.violations[0].destination, 14u);
    EXPECT_GT(result.violations[0].packets, 0u);
    EXPECT_FALSE(result.flows.back().finished);
}

// What all may do anyway takes as long as without tenants.
TEST_P(Tenants, cost_no_time) {
    auto setup = with_flow(two_tenants(GetParam()), 0, 3);
    const Result with = testing::run(setup);
    setup.tenants.clear();
    const Result without = testing::run(setup);
    EXPECT_EQ(with.time, without.time);
    EXPECT_NE(with.hash, without.hash) << "the setup counts";
}

}  // namespace
}  // namespace tulle::sim
