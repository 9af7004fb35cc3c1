// Cables and switches that fail and come back, and cables that damage packets.
#include <cmath>

#include "lab.h"

namespace tulle::exact {
namespace {

constexpr Instant kStart{};

// Two leaves with one host each, two spines: nodes 0 and 1, leaves 2 and 3, spines 4 and 5.
Lab two_ways() {
    Lab lab = plain("leaf-spine:leaves=2,spines=2,hosts=1");
    lab.host.ack_timeout = 6;  // 262 us
    lab.host.ack_every = 16;
    lab.fabric.route.reroute_delay = 100_us;
    lab.flows = {Flow{.source = 0, .destination = 1, .bytes = 10'000'000}};
    return lab;
}

uint32_t cable_between(const Lab& lab, uint32_t a, uint32_t b) {
    for (uint32_t c = 0; c < lab.graph.cables.size(); ++c) {
        const topology::Cable& cable = lab.graph.cables[c];
        if ((cable.a.node == a && cable.b.node == b) || (cable.a.node == b && cable.b.node == a))
            return c;
    }
    ADD_FAILURE() << "no cable";
    return 0;
}

uint64_t packets_over(const Result& result, uint32_t node, uint32_t peer) {
    for (const sim::LinkResult& l : result.links)
        if (l.node == node && l.peer_node == peer) return l.data_packets;
    return 0;
}

// The spine that the flow goes over when nothing is wrong.
uint32_t spine_of_flow() {
    return packets_over(run(two_ways()), 2, 4) != 0 ? 4 : 5;
}

TEST(Faults, what_is_sent_into_a_broken_cable_is_lost_until_the_tables_know) {
    Lab lab = two_ways();
    const uint32_t spine = spine_of_flow();
    const uint32_t other = 9 - spine;
    lab.faults = {{.kind = Fault::Kind::cable_down,
                   .at = kStart + 50_us,
                   .subject = cable_between(lab, 2, spine)}};
    const Result result = run(lab);
    EXPECT_TRUE(result.flows[0].finished);
    EXPECT_GT(packets_over(result, 2, other), 0u);
    // A line rate of 83.56 ns a packet for as long as nobody knew, and what was on its way.
    const auto lost = static_cast<double>(dropped(result, sim::Drop::link_down));
    EXPECT_NEAR(lost, 100'000 / 83.56, 2'000 / 83.56);
}

TEST(Faults, without_another_way_the_flow_waits_for_the_cable) {
    Lab lab = plain(chain({400, 400}));
    lab.host.ack_timeout = 6;
    lab.host.ack_every = 16;
    lab.flows = {Flow{.source = 0, .destination = 1, .bytes = 10'000'000}};
    lab.faults = {{.kind = Fault::Kind::cable_down, .at = kStart + 50_us, .subject = 1},
                  {.kind = Fault::Kind::cable_up, .at = kStart + 400_us, .subject = 1}};
    const Result result = run(lab);
    EXPECT_TRUE(result.flows[0].finished);
    EXPECT_GT(result.flows[0].completion, 400_us);
    EXPECT_GT(dropped(result, sim::Drop::link_down) + dropped(result, sim::Drop::no_route), 0u);
}

TEST(Faults, a_switch_that_fails_takes_all_its_cables_with_it_and_brings_them_back) {
    Lab lab = two_ways();
    const uint32_t spine = spine_of_flow();
    lab.faults = {{.kind = Fault::Kind::switch_down, .at = kStart + 50_us, .subject = spine},
                  {.kind = Fault::Kind::switch_up, .at = kStart + 1_ms, .subject = spine}};
    lab.flows.push_back({.source = 0,
                         .destination = 1,
                         .bytes = 10'000'000,
                         .start = kStart + 2_ms,
                         .port = lab.flows[0].port});
    const Result result = run(lab);
    for (const sim::FlowResult& flow : result.flows) EXPECT_TRUE(flow.finished);
    EXPECT_GT(packets_over(result, 2, 9 - spine), 0u);
    EXPECT_GT(dropped(result, sim::Drop::link_down), 0u);
}

// A cable has two reasons to be down, and one of them goes away.
TEST(Faults, a_switch_that_returns_does_not_mend_a_broken_cable) {
    Lab lab = two_ways();
    const uint32_t spine = spine_of_flow();
    lab.faults = {
        {.kind = Fault::Kind::cable_down, .at = kStart, .subject = cable_between(lab, 2, spine)},
        {.kind = Fault::Kind::switch_down, .at = kStart + 1_us, .subject = spine},
        {.kind = Fault::Kind::switch_up, .at = kStart + 2_us, .subject = spine}};
    lab.fabric.route.choice = fabric::PathChoice::adaptive;
    lab.fabric.route.reroute_delay = 10_ms;  // switches go by what they see of their own ports
    lab.flows[0].start = kStart + 10_us;
    EXPECT_EQ(packets_over(run(lab), 2, spine), 0u);
    lab.faults.push_back({.kind = Fault::Kind::cable_up,
                          .at = kStart + 3_us,
                          .subject = cable_between(lab, 2, spine)});
    EXPECT_GT(packets_over(run(lab), 2, spine), 0u);
}

TEST(Faults, a_cable_that_is_mended_stays_dark_while_its_switch_is_down) {
    Lab lab = two_ways();
    const uint32_t spine = spine_of_flow();
    lab.faults = {{.kind = Fault::Kind::switch_down, .at = kStart + 1_us, .subject = spine},
                  {.kind = Fault::Kind::cable_down,
                   .at = kStart + 2_us,
                   .subject = cable_between(lab, 2, spine)},
                  {.kind = Fault::Kind::cable_up,
                   .at = kStart + 3_us,
                   .subject = cable_between(lab, 2, spine)}};
    lab.fabric.route.choice = fabric::PathChoice::adaptive;
    lab.fabric.route.reroute_delay = 10_ms;
    lab.flows[0].start = kStart + 10_us;
    EXPECT_EQ(packets_over(run(lab), 2, spine), 0u);
}

TEST(Faults, credits_are_told_anew_when_a_cable_is_back) {
    Lab lab = plain(chain({400, 400}));
    lab.fabric.flow_control = fabric::FlowControl::credits;
    lab.host.ack_timeout = 4;
    lab.host.ack_every = 16;
    lab.flows = {Flow{.source = 0, .destination = 1, .bytes = 5'000'000}};
    for (int i = 0; i < 5; ++i) {
        lab.faults.push_back(
            {.kind = Fault::Kind::cable_down, .at = kStart + 10_us + i * 20_us, .subject = 1});
        lab.faults.push_back(
            {.kind = Fault::Kind::cable_up, .at = kStart + 15_us + i * 20_us, .subject = 1});
    }
    EXPECT_TRUE(run(lab).flows[0].finished);
}

// Bit errors: one in 10^7 bits is one in about 300 packets of 4,178 bytes.

Lab with_errors(fabric::BitErrors what) {
    Lab lab = plain("pair");
    lab.host.ack_timeout = 8;
    lab.host.ack_every = 16;
    lab.fabric.link.error_rate_e18 = 100'000'000'000;
    lab.fabric.link.bit_errors = what;
    lab.flows = {Flow{.source = 0, .destination = 1, .bytes = 40'000'000}};
    return lab;
}

TEST(BitErrors, that_are_corrected_cost_nothing) {
    Lab clean = with_errors(fabric::BitErrors::corrected);
    clean.fabric.link.error_rate_e18 = 0;
    const Result result = run(with_errors(fabric::BitErrors::corrected));
    EXPECT_EQ(result.flows[0].completion, run(clean).flows[0].completion);
}

TEST(BitErrors, that_the_link_repairs_cost_a_round_trip_each) {
    Lab lab = with_errors(fabric::BitErrors::retransmitted);
    const Result result = run(lab);
    EXPECT_EQ(result.totals.retransmitted, 0u);
    EXPECT_EQ(dropped(result, sim::Drop::corrupted), 0u);
    // Each repair sends the packet a second time, a round trip of the cable later.
    const uint64_t packets = (40'000'000 + 4095) / 4096;
    Lab clean = lab;
    clean.fabric.link.error_rate_e18 = 0;
    const Result without = run(clean);
    const uint64_t again = (link(result, 0).wire_bytes - link(without, 0).wire_bytes) / 4178;
    const double expected = static_cast<double>(packets) * 4178 * 8 * 1e-7;
    EXPECT_NEAR(static_cast<double>(again), expected, 5 * std::sqrt(expected));
    const int64_t each = 4178 * 20 + 2'000'000;
    const int64_t later = (result.flows[0].completion - without.flows[0].completion).ps;
    EXPECT_NEAR(static_cast<double>(later), static_cast<double>(again) * each, each);
}

TEST(BitErrors, that_the_link_repairs_cost_what_its_ends_take_too) {
    Lab lab = with_errors(fabric::BitErrors::retransmitted);
    const Result at_once = run(lab);
    lab.fabric.link.retry.response = 300_ns;
    const Result later = run(lab);
    const uint64_t again = (link(at_once, 0).wire_bytes - 9766 * 4178) / 4178;
    EXPECT_GT(again, 10u);
    EXPECT_EQ(link(later, 0).wire_bytes, link(at_once, 0).wire_bytes);
    const int64_t longer = (later.flows[0].completion - at_once.flows[0].completion).ps;
    EXPECT_NEAR(static_cast<double>(longer), static_cast<double>(again) * 300'000, 300'000);
}

// A cable that damages everything: each packet goes four times, and is lost.
TEST(BitErrors, that_hit_all_copies_of_a_packet_lose_it) {
    Lab lab = with_errors(fabric::BitErrors::retransmitted);
    lab.fabric.link.error_rate_e18 = 1'000'000'000'000'000'000;
    lab.fabric.link.retry.replays = 3;
    lab.flows[0].bytes = 4096;
    lab.host.retry_count = 0;
    lab.host.ack_timeout = 8;
    const Result result = run(lab);
    EXPECT_FALSE(result.flows[0].finished);
    EXPECT_EQ(dropped(result, sim::Drop::corrupted), 1u);
    EXPECT_EQ(link(result, 0).data_packets, 1u);
    const uint64_t once = link(result, 0).wire_bytes / 4;
    EXPECT_EQ(link(result, 0).wire_bytes, 4 * once);
    EXPECT_GT(once, 4096u);
}

TEST(BitErrors, that_nobody_repairs_lose_the_packet) {
    const Result result = run(with_errors(fabric::BitErrors::dropped));
    EXPECT_TRUE(result.flows[0].finished);
    const uint64_t lost = dropped(result, sim::Drop::corrupted);
    const double expected = static_cast<double>(link(result, 0).data_packets) * 4178 * 8 * 1e-7;
    EXPECT_NEAR(static_cast<double>(lost), expected, 5 * std::sqrt(expected) + 5);
    EXPECT_GT(result.totals.retransmitted, lost);  // go-back-N
}

TEST(BitErrors, of_one_cable_are_lost_packets_of_that_cable) {
    Lab lab = plain(chain({400, 400, 400}));
    lab.host.ack_timeout = 8;
    lab.host.ack_every = 16;
    lab.graph.cables[1].loss_per_trillion = 10'000'000'000;  // one in a hundred
    lab.flows = {Flow{.source = 0, .destination = 1, .bytes = 10'000'000}};
    const Result result = run(lab);
    EXPECT_TRUE(result.flows[0].finished);
    uint64_t at_far_end = 0;
    for (const sim::LinkResult& l : result.links)
        if (l.cable == 1) at_far_end += l.dropped[static_cast<size_t>(sim::Drop::corrupted)];
    EXPECT_GT(at_far_end, 0u);
    EXPECT_EQ(at_far_end, dropped(result, sim::Drop::corrupted));
}

}  // namespace
}  // namespace tulle::exact
