// A control plane and the packets that live with what it does.
#include "sim/control_plane.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/testing.h"
#include "topology/spec.h"

namespace tulle::sim {
namespace {

constexpr Duration kControlMicrosecond{1'000'000};

// Hosts of each leaf send to those of the next one, while a link between a leaf and a spine dies.
Setup shift_with_dead_link(ControlSettings::Kind kind) {
    Setup setup;
    setup.graph = *topology::build_spec("leaf-spine:leaves=3,spines=2,hosts=3");
    setup.control.kind = kind;
    if (kind == ControlSettings::Kind::sweep)
        setup.fabric.route.choice = fabric::PathChoice::destination;
    setup.host.ack_timeout = 10;  // 4.2 ms: a repair takes less than its retries
    for (uint32_t host = 0; host < 9; ++host) {
        Flow flow;
        flow.source = host;
        flow.destination = (host + 3) % 9;
        flow.bytes = 20'000'000;
        setup.flows.push_back(flow);
    }
    for (uint32_t cable = 0; cable < setup.graph.cables.size(); ++cable) {
        const topology::Cable& each = setup.graph.cables[cable];
        if (setup.graph.nodes[each.a.node].is_host() || setup.graph.nodes[each.b.node].is_host())
            continue;
        setup.faults = {{Fault::Kind::cable_down, Instant{} + 100 * kControlMicrosecond, cable}};
        break;
    }
    return setup;
}

uint64_t lost_on_dead_links(const std::array<uint64_t, kDropCauses>& lost) {
    return lost[static_cast<size_t>(Drop::link_down)] + lost[static_cast<size_t>(Drop::no_route)];
}

class ControlPlane : public ::testing::TestWithParam<ControlSettings::Kind> {};

TEST_P(ControlPlane, repairs_a_dead_link_while_packets_flow) {
    const auto setup = shift_with_dead_link(GetParam());
    const Result result = testing::run(setup, 1);
    ASSERT_EQ(result.control.repairs.size(), 1u);
    const RepairResult& found = result.control.repairs[0];
    EXPECT_TRUE(found.repair.is_repaired());
    EXPECT_GT(found.repair.broken_pairs, 0u);
    EXPECT_GT(lost_on_dead_links(found.lost), 0u);
    EXPECT_EQ(lost_on_dead_links(found.lost), lost_on_dead_links(result.totals.dropped))
        << "nothing was lost before the fault";
    for (const FlowResult& flow : result.flows) EXPECT_TRUE(flow.finished);
}

TEST_P(ControlPlane, loses_more_the_later_the_repair_is) {
    auto setup = shift_with_dead_link(GetParam());
    setup.host.ack_timeout = 6;  // 262 us: senders try often
    const Result soon = testing::run(setup, 1);
    setup.control.sweep.light = setup.control.distributed.light = 3000 * kControlMicrosecond;
    const Result late = testing::run(setup, 1);
    EXPECT_GT(late.control.repairs[0].repair.repaired, soon.control.repairs[0].repair.repaired);
    EXPECT_GT(lost_on_dead_links(late.totals.dropped), lost_on_dead_links(soon.totals.dropped));
}

TEST_P(ControlPlane, is_the_same_for_any_number_of_partitions) {
    const auto setup = shift_with_dead_link(GetParam());
    const uint64_t hash = testing::run(setup, 1).hash;
    EXPECT_EQ(testing::run(setup, 2).hash, hash);
    EXPECT_EQ(testing::run(setup, 5).hash, hash);
}

TEST_P(ControlPlane, changes_nothing_where_nothing_breaks_and_paths_are_the_same) {
    auto setup = shift_with_dead_link(GetParam());
    setup.faults.clear();
    const Result found = testing::run(setup, 1);
    setup.control.kind = ControlSettings::Kind::given;
    const Result given = testing::run(setup, 1);
    EXPECT_GT(found.control.bring_up_messages, 0u);
    EXPECT_TRUE(given.control.is_given());
    if (GetParam() == ControlSettings::Kind::sweep) return;  // its engine balances otherwise
    EXPECT_EQ(found.time, given.time);
    EXPECT_EQ(found.totals.delivered, given.totals.delivered);
}

// One flow between hosts of one leaf, whose path no fault changes.
Setup inside_a_leaf(ControlSettings::Kind kind, uint64_t bytes) {
    auto setup = shift_with_dead_link(kind);
    setup.flows.resize(1);
    setup.flows[0].source = 0;
    setup.flows[0].destination = 1;
    setup.flows[0].bytes = bytes;
    return setup;
}

uint64_t bytes_on_lines(const Result& result) {
    uint64_t sum = 0;
    for (const LinkResult& link : result.links) sum += link.wire_bytes;
    return sum;
}

TEST_P(ControlPlane, takes_its_bytes_from_the_wire) {
    const Result found = testing::run(inside_a_leaf(GetParam(), 1'000'000'000), 1);
    const Result given =
        testing::run(inside_a_leaf(ControlSettings::Kind::given, 1'000'000'000), 1);
    const uint64_t bytes = found.control.repairs[0].repair.bytes;
    EXPECT_GE(bytes, found.control.repairs[0].repair.messages * 27);
    const uint64_t more = bytes_on_lines(found) - bytes_on_lines(given);
    if (GetParam() != ControlSettings::Kind::sweep) {
        EXPECT_EQ(more, bytes);
        return;
    }
    EXPECT_EQ(more % control::kMadPacketBytes, 0u);
    EXPECT_GT(more, 100 * control::kMadPacketBytes);
    EXPECT_LE(more, bytes) << "the manager sweeps on when the flow has ended";
    EXPECT_GT(found.time, given.time) << "the manager is at the sender";
}

// The flow ends before the fault.
TEST_P(ControlPlane, keeps_no_line_busy_when_all_work_has_ended) {
    const Result found = testing::run(inside_a_leaf(GetParam(), 10'000), 1);
    const Result given = testing::run(inside_a_leaf(ControlSettings::Kind::given, 10'000), 1);
    EXPECT_GT(found.control.repairs[0].repair.bytes, 0u);
    EXPECT_EQ(bytes_on_lines(found), bytes_on_lines(given));
    for (const LinkResult& link : found.links) EXPECT_LE(link.busy, found.time - Instant{});
}

// What breaks, besides a link: a link again and again, and then a switch. A session of BGP that was
// lost begins again a second later, so senders have to wait for longer than that.
Setup with_flapping_link_and_dead_switch(ControlSettings::Kind kind) {
    auto setup = shift_with_dead_link(kind);
    const uint32_t cable = setup.faults[0].subject;
    const Instant begin = setup.faults[0].at;
    setup.host.ack_timeout = 17;  // 537 ms
    for (int i = 1; i < 6; ++i)
        setup.faults.push_back({i % 2 == 0 ? Fault::Kind::cable_down : Fault::Kind::cable_up,
                                begin + i * 300 * kControlMicrosecond, cable});
    const auto spine = std::ranges::find(setup.graph.nodes, "spine1", &topology::Node::name);
    setup.faults.push_back({Fault::Kind::switch_down, begin + 40'000 * kControlMicrosecond,
                            static_cast<uint32_t>(spine - setup.graph.nodes.begin())});
    return setup;
}

TEST_P(ControlPlane, serves_everybody_while_a_link_flaps_and_after_a_switch_died) {
    const auto setup = with_flapping_link_and_dead_switch(GetParam());
    const Result result = testing::run(setup, 1);
    ASSERT_EQ(result.control.repairs.size(), setup.faults.size());
    EXPECT_TRUE(result.control.repairs.back().repair.is_repaired());
    for (const FlowResult& flow : result.flows) EXPECT_TRUE(flow.finished);
}

TEST(GivenTables, serve_everybody_while_a_link_flaps_and_after_a_switch_died) {
    const auto setup = with_flapping_link_and_dead_switch(ControlSettings::Kind::given);
    const Result result = testing::run(setup, 1);
    EXPECT_GT(lost_on_dead_links(result.totals.dropped), 0u);
    for (const FlowResult& flow : result.flows) EXPECT_TRUE(flow.finished);
}

// On a ring or a torus buffers wait for one another in a circle, unless packets change lanes as the
// engine of the subnet manager has it.
Setup around(const std::string& spec, ControlSettings::Kind kind) {
    Setup setup;
    setup.graph = *topology::build_spec(spec);
    setup.control.kind = kind;
    setup.fabric.flow_control = fabric::FlowControl::credits;
    setup.fabric.route.choice = fabric::PathChoice::destination;
    const auto hosts = static_cast<uint32_t>(setup.graph.host_count());
    for (uint32_t host = 0; host < hosts; ++host)
        for (uint32_t away = hosts / 3; away <= hosts / 2; ++away) {
            Flow flow;
            flow.source = host;
            flow.destination = (host + away) % hosts;
            flow.bytes = 1'000'000;
            setup.flows.push_back(flow);
        }
    return setup;
}

uint64_t finished(const Result& result) {
    return static_cast<uint64_t>(std::ranges::count_if(result.flows, &FlowResult::finished));
}

TEST(LanesOfTheManager, keep_rings_from_deadlock) {
    const auto given = around("ring:6,hosts=2", ControlSettings::Kind::given);
    EXPECT_LT(finished(testing::run(given)), given.flows.size()) << "the control";
    for (const char* const spec :
         {"ring:6,hosts=2", "torus:5x3,hosts=1", "dragonfly:a=3,p=1,h=1"}) {
        const auto setup = around(spec, ControlSettings::Kind::sweep);
        const Result result = testing::run(setup);
        EXPECT_EQ(finished(result), setup.flows.size()) << spec;
        EXPECT_EQ(testing::run(setup, 3).hash, result.hash) << spec;
    }
}

TEST(LanesOfTheManager, leave_no_service_level_to_choose) {
    auto setup = around("ring:6,hosts=2", ControlSettings::Kind::sweep);
    setup.flows[0].service_level = 1;
    const auto history = run_control(setup);
    ASSERT_FALSE(history.ok());
    EXPECT_NE(history.error().message.find("service_level"), std::string::npos);
}

TEST(SpanningTree, carries_packets_on_another_tree_after_a_fault) {
    auto setup = shift_with_dead_link(ControlSettings::Kind::distributed);
    setup.control.distributed.protocol = control::Protocol::spanning_tree;
    setup.fabric.route.kind = fabric::RouteKind::spanning_tree;
    setup.faults[0].subject = static_cast<uint32_t>(
        std::ranges::find_if(setup.graph.cables,
                             [&](const topology::Cable& cable) {
                                 return setup.graph.nodes[cable.a.node].name == "leaf0" &&
                                        setup.graph.nodes[cable.b.node].name == "spine0";
                             }) -
        setup.graph.cables.begin());
    const Result result = testing::run(setup, 1);
    ASSERT_EQ(result.control.repairs.size(), 1u);
    EXPECT_TRUE(result.control.repairs[0].repair.is_repaired());
    EXPECT_GT(lost_on_dead_links(result.totals.dropped), 0u);
    for (const FlowResult& flow : result.flows) EXPECT_TRUE(flow.finished);
    EXPECT_EQ(testing::run(setup, 3).hash, result.hash);
    setup.faults.clear();
    const Result found = testing::run(setup, 1);
    setup.control.kind = ControlSettings::Kind::given;
    EXPECT_EQ(found.time, testing::run(setup, 1).time) << "the tree that is given";
}

TEST(AdaptiveGroups, spread_packets_and_are_mended_by_the_manager) {
    auto setup = shift_with_dead_link(ControlSettings::Kind::sweep);
    setup.fabric.route.choice = fabric::PathChoice::adaptive;
    setup.host.loss = transport::LossPolicy::selective_repeat;
    setup.host.reorder_tolerance = 200;
    setup.control.sweep.adaptive = true;
    const Result result = testing::run(setup, 1);
    ASSERT_EQ(result.control.repairs.size(), 1u);
    EXPECT_TRUE(result.control.repairs[0].repair.is_repaired());
    EXPECT_GT(result.control.repairs[0].repair.broken_pairs, 0u) << "others still send that way";
    for (const FlowResult& flow : result.flows) EXPECT_TRUE(flow.finished);
    EXPECT_EQ(testing::run(setup, 3).hash, result.hash);
    setup.faults.clear();
    const Result whole = testing::run(setup, 1);
    uint64_t used = 0;
    for (const LinkResult& link : whole.links) used += link.data_packets != 0 ? 1 : 0;
    EXPECT_EQ(used, whole.links.size()) << "a shift by a leaf over both spines uses every link";
}

INSTANTIATE_TEST_SUITE_P(of_both_kinds, ControlPlane,
                         ::testing::Values(ControlSettings::Kind::sweep,
                                           ControlSettings::Kind::distributed));

}  // namespace
}  // namespace tulle::sim
