// A control plane and the packets that live with what it does.
#include "sim/control_plane.h"

#include <gtest/gtest.h>

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

INSTANTIATE_TEST_SUITE_P(of_both_kinds, ControlPlane,
                         ::testing::Values(ControlSettings::Kind::sweep,
                                           ControlSettings::Kind::distributed));

}  // namespace
}  // namespace tulle::sim
