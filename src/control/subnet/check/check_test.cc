#include <gtest/gtest.h>

#include "control/subnet/check/credit_loops.h"
#include "control/subnet/check/reach.h"
#include "control/subnet/check/spread.h"
#include "control/subnet/routing/engines.h"
#include "control/subnet/testing.h"

namespace tulle::control {
namespace {

using testing::subnet_of;

// Hosts h0 to h2 have the LIDs 1 to 3, switches 0 to 2 the LIDs 4 to 6.
Subnet line_of_three() {
    return subnet_of("line:3");
}

TEST(reach, counts_all_pairs_of_hosts) {
    const Subnet subnet = line_of_three();
    const Reach reach = check_reach(subnet, route_min_hop(subnet, {}).tables);
    EXPECT_EQ(reach.host_pairs, 6u);
    EXPECT_TRUE(reach.is_whole());
}

TEST(reach, names_the_switch_without_a_route) {
    const Subnet subnet = line_of_three();
    Routing routing = route_min_hop(subnet, {});
    routing.tables.set(1, 3, kNoPort);
    const Reach reach = check_reach(subnet, routing.tables);
    EXPECT_EQ(reach.lost_host_pairs, 2u);
    ASSERT_FALSE(reach.lost.empty());
    EXPECT_EQ(reach.lost.front().source, 0u);
    EXPECT_EQ(reach.lost.front().lid, 3u);
    EXPECT_EQ(reach.lost.front().stops_at, 1u);
}

TEST(reach, names_a_packet_that_is_given_to_the_wrong_host) {
    const Subnet subnet = subnet_of("star:3");
    Routing routing = route_min_hop(subnet, {});
    routing.tables.set(0, 1, 2);
    EXPECT_EQ(check_reach(subnet, routing.tables).lost_host_pairs, 2u);
}

TEST(reach, finds_switches_that_send_to_each_other) {
    const Subnet subnet = line_of_three();
    Routing routing = route_min_hop(subnet, {});
    const Subnet::Link& link = subnet.link(subnet.first_link(0));
    ASSERT_EQ(link.to, 1u);
    routing.tables.set(1, 3, link.to_port);
    const Reach reach = check_reach(subnet, routing.tables);
    EXPECT_EQ(reach.looping_host_pairs, 2u);
    ASSERT_FALSE(reach.looping.empty());
    EXPECT_EQ(path_of(subnet, routing.tables, 0, 3).size(), 2u);
}

TEST(reach, asks_nothing_of_hosts_that_no_cable_joins) {
    const topology::Graph graph = testing::graph_of("line:2");
    std::vector<bool> down(graph.cables.size());
    for (size_t i = 0; i < graph.cables.size(); ++i)
        down[i] = !graph.nodes[graph.cables[i].a.node].is_host() &&
                  !graph.nodes[graph.cables[i].b.node].is_host();
    const Subnet subnet = subnet_of(graph, down);
    const Reach reach = check_reach(subnet, route_min_hop(subnet, {}).tables);
    EXPECT_EQ(reach.host_pairs, 0u);
    EXPECT_TRUE(reach.is_whole());
}

TEST(credit_loops, are_found_on_the_lane_that_service_levels_lead_to) {
    const Subnet subnet = subnet_of("ring:5");
    Routing routing = route_dfsssp(subnet, {});
    ASSERT_FALSE(find_credit_loop(subnet, routing.tables, routing.lanes));
    for (uint8_t& level : routing.lanes.service_levels) level = 1;
    const auto loop = find_credit_loop(subnet, routing.tables, routing.lanes);
    ASSERT_TRUE(loop);
    for (const CreditLoop::Part& part : loop->parts) EXPECT_EQ(part.lane, 1);
}

TEST(credit_loops, are_found_on_the_last_lane_that_there_can_be) {
    const Subnet subnet = subnet_of("ring:5");
    const Routing routing = route_min_hop(subnet, {});
    Lanes lanes;
    lanes.count = kMostLanes;
    lanes.service_levels.assign(size_t{subnet.switch_count()} * subnet.lid_end(), kMostLanes - 1);
    const auto loop = find_credit_loop(subnet, routing.tables, lanes);
    ASSERT_TRUE(loop);
    EXPECT_EQ(loop->parts[0].lane, kMostLanes - 1);
}

TEST(credit_loops, are_found_where_a_dragonfly_stays_on_one_lane) {
    const Subnet subnet = subnet_of("dragonfly:a=4,p=2,h=2");
    Routing routing = route_dragonfly(subnet, {});
    ASSERT_FALSE(find_credit_loop(subnet, routing.tables, routing.lanes));
    routing.lanes.rule = {};
    EXPECT_TRUE(find_credit_loop(subnet, routing.tables, routing.lanes));
}

TEST(spread, counts_flows_on_the_busiest_link) {
    // Four hosts on each of two leaves, one spine: in shift 4 all eight cross it.
    const Subnet subnet = subnet_of("leaf-spine:leaves=2,spines=1,hosts=4");
    const Routing routing = route_min_hop(subnet, {});
    const ShiftSpread shifts = measure_shifts(subnet, routing.tables, 1'000);
    EXPECT_EQ(shifts.hosts, 8u);
    EXPECT_EQ(shifts.shifts, 7u);
    EXPECT_EQ(shifts.most_flows, 4u);
    EXPECT_EQ(shifts.worst_shift, 4u);
    EXPECT_EQ(shifts.sum_of_most, 1u + 2 + 3 + 4 + 3 + 2 + 1);
    const PathSpread paths = measure_paths(subnet, routing.tables);
    EXPECT_EQ(paths.links, 4u);
    EXPECT_EQ(paths.most, 16u);
    EXPECT_EQ(paths.sum, 64u);
}

}  // namespace
}  // namespace tulle::control
