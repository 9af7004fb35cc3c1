// What a subnet manager does to tables while things break.
#include "control/subnet/sweep.h"

#include <gtest/gtest.h>

#include <array>

#include "control/subnet/testing.h"

namespace tulle::control {
namespace {

using base::Duration;
using base::Instant;
using testing::graph_of;
using Kind = Disturbance::Kind;

constexpr Duration kOneMillisecond{1'000'000'000};
constexpr Duration kOneSecond{1'000'000'000'000};

uint32_t cable_of(const topology::Graph& graph, std::string_view one, std::string_view other) {
    for (uint32_t i = 0; i < graph.cables.size(); ++i) {
        const std::string& a = graph.nodes[graph.cables[i].a.node].name;
        const std::string& b = graph.nodes[graph.cables[i].b.node].name;
        if ((a == one && b == other) || (a == other && b == one)) return i;
    }
    ADD_FAILURE() << "no cable between " << one << " and " << other;
    return 0;
}

History swept(const topology::Graph& graph, const std::vector<Disturbance>& disturbances,
              const SweepSettings& settings = {}) {
    auto history = run_sweep(graph, std::vector<Duration>(graph.cables.size(), Duration{135'000}),
                             settings, disturbances);
    EXPECT_TRUE(history.ok());
    return std::move(*history);
}

TEST(Sweep, writes_tables_that_serve_everybody) {
    const auto graph = graph_of("leaf-spine:leaves=4,spines=3,hosts=2");
    const History history = swept(graph, {{Kind::cable_up, Instant{} + kOneMillisecond, 0}});
    EXPECT_EQ(history.repairs[0].broken_pairs, 0u);
    EXPECT_EQ(history.way, "fat-tree");
    EXPECT_GT(history.bring_up_messages, 100u);
}

TEST(Sweep, repairs_a_dead_link_and_writes_only_what_changed) {
    const auto graph = graph_of("leaf-spine:leaves=4,spines=3,hosts=2");
    const auto cable = cable_of(graph, "leaf0", "spine1");
    const History history = swept(graph, {{Kind::cable_down, Instant{} + kOneMillisecond, cable}});
    const Repair& repair = history.repairs[0];
    ASSERT_TRUE(repair.is_repaired());
    EXPECT_GT(repair.broken_pairs, 0u);
    EXPECT_GT(repair.repaired - repair.cause.at, SweepSettings{}.light);
    EXPECT_LT(repair.repaired - repair.cause.at, 100 * kOneMillisecond);
    EXPECT_LT(repair.writes, uint64_t{7} * 8 / 2);  // of 7 switches with entries for 8 hosts
    EXPECT_EQ(history.repairs.back().unserved_pairs, 0u);
}

TEST(Sweep, says_which_ports_its_packets_leave_and_when) {
    const auto graph = graph_of("leaf-spine:leaves=4,spines=3,hosts=2");
    const auto cable = cable_of(graph, "leaf0", "spine1");
    const Instant fault = Instant{} + kOneMillisecond;
    const History history = swept(graph, {{Kind::cable_down, fault, cable}});
    EXPECT_GE(history.management.size(), 2 * history.repairs[0].messages) << "with answers";
    const topology::Ports ports(graph);
    uint64_t of_manager = 0;
    for (const ManagementSent& mad : history.management) {
        EXPECT_GE(mad.at, fault);
        EXPECT_TRUE(ports.at(mad.from).is_cabled());
        EXPECT_NE(ports.at(mad.from).cable, cable);
        of_manager += mad.from.node == graph.endpoints().front();
    }
    EXPECT_GT(of_manager, 10u);
    EXPECT_LE(of_manager, history.repairs[0].messages);
}

TEST(Sweep, names_a_host_that_never_answers) {
    const auto graph = graph_of("leaf-spine:leaves=2,spines=2,hosts=2");
    const uint32_t silent = graph.endpoints().back();
    constexpr uint64_t kAll = 1'000'000'000'000;
    std::vector<std::array<uint64_t, 2>> losses;
    for (const topology::Cable& cable : graph.cables)
        losses.push_back({cable.a.node == silent ? kAll : 0, cable.b.node == silent ? kAll : 0});
    const auto history = run_sweep(
        graph, std::vector<Duration>(graph.cables.size(), Duration{135'000}), {}, {}, losses);
    ASSERT_FALSE(history.ok());
    EXPECT_NE(history.error().message.find(graph.nodes[silent].name), std::string::npos)
        << history.error().message;
}

// One host of leaf0 is reached by way of spine1, and leaf0 reaches a quarter of the others by it.
TEST(Sweep, leaves_tables_alone_that_no_dead_link_concerns) {
    const auto graph = graph_of("leaf-spine:leaves=8,spines=4,hosts=4");
    const auto cable = cable_of(graph, "leaf0", "spine1");
    const History history = swept(graph, {{Kind::cable_down, Instant{} + kOneMillisecond, cable}});
    EXPECT_EQ(history.repairs[0].unserved_pairs, 0u);
    EXPECT_GE(history.repairs[0].writes, 7u + 7);
    EXPECT_LT(history.repairs[0].writes, 12u * 32 / 8);  // of all entries of all switches
}

TEST(Sweep, makes_a_cable_that_came_back_active_first) {
    const auto graph = graph_of("leaf-spine:leaves=2,spines=2,hosts=2");
    const auto cable = cable_of(graph, "h0", "leaf0");
    const History history = swept(graph,
                                  {{Kind::cable_down, Instant{} + kOneMillisecond, cable},
                                   {Kind::cable_up, Instant{} + 200 * kOneMillisecond, cable}},
                                  {.manager = 3});
    EXPECT_EQ(history.repairs[0].cut_off, std::vector<uint32_t>{0});
    ASSERT_EQ(history.ready.size(), 1u);
    EXPECT_EQ(history.ready[0].cable, cable);
    EXPECT_GT(history.ready[0].at, Instant{} + 200 * kOneMillisecond);
    EXPECT_EQ(history.repairs[1].repaired, history.ready[0].at);
}

TEST(Sweep, hands_a_dead_managers_work_to_its_standby) {
    const auto graph = graph_of("leaf-spine:leaves=2,spines=2,hosts=2");
    const auto cable = cable_of(graph, "leaf0", "spine1");
    const std::vector<Disturbance> story = {{Kind::manager_down, Instant{} + kOneMillisecond, 0},
                                            {Kind::cable_down, Instant{} + kOneSecond, cable}};
    const History alone = swept(graph, story);
    EXPECT_FALSE(alone.repairs[0].is_repaired());
    EXPECT_FALSE(alone.repairs[1].is_repaired());
    EXPECT_GT(alone.repairs[1].unserved_pairs, 0u);
    const History helped = swept(graph, story, {.standby = 3});
    ASSERT_TRUE(helped.repairs[1].is_repaired());
    EXPECT_GT(helped.repairs[1].repaired, Instant{} + 30 * kOneSecond);  // it polls every 10 s
    EXPECT_EQ(helped.repairs.back().unserved_pairs, 0u);
}

TEST(Sweep, rewrites_all_of_a_switch_that_came_back) {
    const auto graph = graph_of("leaf-spine:leaves=3,spines=2,hosts=2");
    uint32_t spine = 0;
    while (graph.nodes[spine].name != "spine0") ++spine;
    const History history = swept(graph, {{Kind::switch_down, Instant{} + kOneMillisecond, spine},
                                          {Kind::switch_up, Instant{} + kOneSecond, spine}});
    EXPECT_TRUE(history.repairs[0].is_repaired());
    EXPECT_TRUE(history.repairs[1].is_repaired());
    EXPECT_EQ(history.repairs.back().unserved_pairs, 0u);
}

// Cables and switches come and go, the first manager dies amid it all, and cables lose MADs: once
// the standby has taken over and swept, whoever cables join has a route.
TEST(Sweep, serves_every_pair_that_can_talk_whatever_broke_meanwhile) {
    for (uint64_t seed = 1; seed <= 40; ++seed) {
        auto random = testing::stream_of(seed, 9);
        const auto graph = testing::random_graph(seed);
        const auto hosts = static_cast<uint32_t>(graph.endpoints().size());
        const uint64_t loss = random.below(10) * 1'000'000'000;  // up to one percent
        std::vector<Disturbance> story;
        Instant at{};
        std::vector<bool> is_down(graph.cables.size());
        for (int i = 0; i < 6; ++i) {
            at = at + Duration{static_cast<int64_t>(random.below(30'000'000'000))};
            const auto cable = static_cast<uint32_t>(random.below(graph.cables.size()));
            const topology::Cable& chosen = graph.cables[cable];
            if (graph.nodes[chosen.a.node].is_host() || graph.nodes[chosen.b.node].is_host())
                continue;
            is_down[cable] = !is_down[cable];
            story.push_back({is_down[cable] ? Kind::cable_down : Kind::cable_up, at, cable});
        }
        story.push_back({Kind::manager_down, at + Duration{1}, 0});
        for (uint32_t cable = 0; cable < graph.cables.size(); ++cable)
            if (is_down[cable]) story.push_back({Kind::cable_up, at + 60 * kOneSecond, cable});
        const auto history = run_sweep(
            graph, std::vector<Duration>(graph.cables.size(), Duration{135'000}),
            {.standby = hosts - 1}, story,
            std::vector<std::array<uint64_t, 2>>(graph.cables.size(), {loss, loss}), seed);
        ASSERT_TRUE(history.ok()) << "seed " << seed;
        EXPECT_EQ(history->repairs.back().unserved_pairs, 0u) << "seed " << seed;
    }
}

TEST(Sweep, takes_longer_where_cables_lose_mads) {
    const auto graph = graph_of("leaf-spine:leaves=4,spines=3,hosts=2");
    const std::vector<Duration> delays(graph.cables.size(), Duration{135'000});
    const auto clean = run_sweep(graph, delays, {}, {});
    const std::vector<std::array<uint64_t, 2>> losses(graph.cables.size(),
                                                      {20'000'000'000, 20'000'000'000});
    const auto lossy = run_sweep(graph, delays, {}, {}, losses);
    ASSERT_TRUE(clean.ok() && lossy.ok());
    EXPECT_GT(lossy->bring_up_messages, clean->bring_up_messages);
    EXPECT_GT(lossy->bring_up, clean->bring_up + 100 * kOneMillisecond);  // a timeout at least
}

// By dimension order a ring needs two lanes; a tree one.
TEST(Sweep, tells_hosts_and_switches_the_lanes_of_the_engine) {
    const auto ring = graph_of("ring:6,hosts=2");
    const History history = swept(ring, {});
    EXPECT_EQ(history.way, "dimension-order");
    ASSERT_TRUE(history.lanes.are_used());
    EXPECT_EQ(history.lanes.count, 2);
    EXPECT_EQ(history.lanes.of_hosts[1], 0);
    bool has_second = false;
    for (const auto& maps : history.lanes.maps)
        for (const uint64_t map : maps) has_second |= (map >> 4 & 15) == 1;
    EXPECT_TRUE(has_second);
    EXPECT_FALSE(swept(graph_of("leaf-spine:leaves=2,spines=2,hosts=2"), {}).lanes.are_used());
}

}  // namespace
}  // namespace tulle::control
