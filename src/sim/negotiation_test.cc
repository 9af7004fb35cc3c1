// What the two ends of a cable settle on, by DCBX.
#include "sim/negotiation.h"

#include <gtest/gtest.h>

#include "topology/spec.h"

namespace tulle::sim {
namespace {

constexpr uint16_t kThree = 1 << 3;
constexpr uint16_t kFour = 1 << 4;

DcbxOffer offer(uint16_t priorities, bool is_willing, uint32_t address) {
    DcbxOffer made{priorities, {}, is_willing, address};
    made.ets.strict = priorities;
    return made;
}

TEST(negotiation, a_willing_end_takes_what_the_other_says) {
    EXPECT_EQ(settled_priorities(offer(kThree, true, 1), offer(kFour, false, 2)), kFour);
    EXPECT_EQ(settled_priorities(offer(kFour, false, 2), offer(kThree, true, 1)), kFour);
}

TEST(negotiation, of_two_willing_ends_the_lower_address_counts) {
    EXPECT_EQ(settled_priorities(offer(kThree, true, 1), offer(kFour, true, 2)), kThree);
    EXPECT_EQ(settled_priorities(offer(kFour, true, 2), offer(kThree, true, 1)), kThree);
}

TEST(negotiation, two_that_are_not_willing_keep_their_own) {
    EXPECT_EQ(settled_priorities(offer(kThree, false, 1), offer(kFour, false, 2)), kThree);
    EXPECT_EQ(settled_priorities(offer(kFour, false, 2), offer(kThree, false, 1)), kFour);
}

// The standard's other machine: each end for itself.
TEST(negotiation, shares_of_the_line_may_differ_by_direction) {
    const DcbxOffer a = offer(kThree, true, 1);
    const DcbxOffer b = offer(kFour, true, 2);
    EXPECT_EQ(settled_ets(a, b).strict, kFour);
    EXPECT_EQ(settled_ets(b, a).strict, kThree);
}

Setup star_with_pfc() {
    Setup setup;
    setup.graph = *topology::build_spec("star:2");
    setup.fabric.flow_control = fabric::FlowControl::pfc;
    setup.fabric.pfc.priorities = kThree;
    return setup;
}

TEST(negotiation, a_willing_switch_shares_each_line_as_its_neighbour_recommends) {
    auto setup = star_with_pfc();
    const topology::Ports ports(setup.graph);
    const uint32_t node = ports.at({setup.graph.endpoints()[0], 0}).peer.node;
    QosOverride own{node, kFour, {}, true};
    own.ets.strict = kFour;
    setup.qos = {own};
    const Negotiation negotiation(setup);
    EXPECT_TRUE(negotiation.disagreements().empty());
    EXPECT_EQ(negotiation.priorities(0, true), kThree);
    EXPECT_EQ(negotiation.priorities(0, false), kThree);
    EXPECT_EQ(negotiation.ets_of(node, ports).at(0).strict, 0u);
    setup.qos[0].willing = false;
    const Negotiation stubborn(setup);
    EXPECT_EQ(stubborn.disagreements().size(), 2u);
    EXPECT_TRUE(stubborn.ets_of(node, ports).empty());
}

}  // namespace
}  // namespace tulle::sim
