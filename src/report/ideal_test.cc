#include "report/ideal.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "report/testing.h"

namespace tulle::report {
namespace {

using base::Rate;
using namespace base::literals;

// The settings of HPCC's simulator: 1,000 bytes in 1,048, acknowledgements of 60, whole
// nanoseconds.
void as_hpcc(sim::Setup& setup) {
    setup.fabric.link.rate = Rate::bits_per_second(100'000'000'000);
    setup.fabric.link.delay = 1_us;
    setup.fabric.link.gap_bytes = 0;
    setup.fabric.link.whole_nanoseconds = true;
    setup.fabric.framing.minimum_bytes = 0;
    setup.fabric.framing.fixed_header_bytes = 48;
    setup.fabric.framing.fixed_ack_bytes = 60;
    setup.host.mtu = 1000;
}

// A row of switches between two hosts.
testing::MadeRun chain(uint32_t switches) {
    testing::MadeRun run;
    uint32_t before = run.add_host();
    for (uint32_t i = 0; i < switches; ++i) {
        const uint32_t next = run.add_switch(topology::kLeafTier);
        run.setup.graph.connect(before, next);
        before = next;
    }
    run.setup.graph.connect(before, run.add_host());
    return run;
}

sim::Flow flow_of(uint64_t bytes, sim::Verb operation = sim::Verb::write) {
    sim::Flow flow;
    flow.destination = 1;
    flow.bytes = bytes;
    flow.operation = operation;
    return flow;
}

TEST(Ideal, a_flow_across_a_fat_tree_takes_what_the_peer_measured_to_the_nanosecond) {
    testing::MadeRun run = chain(5);
    as_hpcc(run.setup);
    const Routes routes(run.setup.graph);
    const Ideal ideal(run.setup, routes);
    EXPECT_EQ(ideal.of(flow_of(2'000'000)), 178'439_ns);
}

TEST(Ideal, the_standalone_time_of_a_flow_file_is_that_of_the_peer) {
    for (const auto& [switches, expected] :
         {std::pair{1u, 171'840_ns}, {3u, 176'000_ns}, {5u, 180'160_ns}}) {
        testing::MadeRun run = chain(switches);
        as_hpcc(run.setup);
        const Routes routes(run.setup.graph);
        EXPECT_EQ(Ideal(run.setup, routes).of_hpcc(flow_of(2'000'000)), expected);
    }
}

TEST(Ideal, a_write_of_one_packet_is_summed_by_hand) {
    testing::MadeRun run = chain(1);
    run.setup.fabric.node.latency = 300_ns;
    const Routes routes(run.setup.graph);
    // 100 bytes, BTH, RETH and the envelope, then the gap: 198 bytes of 20 ps, and 86 of the ACK.
    const base::Duration sending = base::Duration{(198 + 86) * 20} * 2;
    EXPECT_EQ(Ideal(run.setup, routes).of(flow_of(100)), sending + 4_us + 600_ns);
}

TEST(Ideal, a_read_sends_its_request_first_and_needs_no_acknowledgement) {
    testing::MadeRun run = chain(1);
    const Routes routes(run.setup.graph);
    // Request: 50 + 12 + 16 and 20 of gap; response: AETH instead of RETH.
    const base::Duration sending = base::Duration{(98 + 186) * 20} * 2;
    EXPECT_EQ(Ideal(run.setup, routes).of(flow_of(100, sim::Verb::read)), sending + 4_us);
}

// Packet by packet and link by link, as a store-and-forward path does it.
base::Duration step_by_step(const sim::Setup& setup, const sim::Flow& flow) {
    const uint64_t mtu = setup.host.mtu;
    const uint64_t count = std::max<uint64_t>(1, (flow.bytes + mtu - 1) / mtu);
    std::vector<base::Duration> free(setup.graph.cables.size());
    for (uint64_t i = 0; i < count; ++i) {
        const bool is_last = i + 1 == count;
        const uint64_t payload = is_last ? flow.bytes - i * mtu : mtu;
        const uint64_t bytes = data_wire_bytes(setup, flow.operation, payload, i == 0, is_last);
        base::Duration ready{};
        for (uint32_t cable = 0; cable < free.size(); ++cable)
            ready = free[cable] =
                std::max(ready, free[cable]) + cable_rate(setup, cable).time_for(bytes);
    }
    return free.back();
}

TEST(Ideal, the_closed_form_is_what_packets_do_one_by_one_at_any_rates) {
    constexpr uint64_t kRates[] = {100'000'000'000, 200'000'000'000, 400'000'000'000,
                                   250'000'000'000};
    base::RandomStream random({.seed = 1});
    for (int round = 0; round < 300; ++round) {
        testing::MadeRun run = chain(static_cast<uint32_t>(1 + random.below(4)));
        run.setup.fabric.link.delay = {};
        run.setup.host.mtu = 256;
        run.setup.fabric.framing.fixed_ack_bytes = 0;
        for (topology::Cable& cable : run.setup.graph.cables) {
            cable.rate_bps = kRates[random.below(4)];
            cable.delay = 1_ns;
        }
        const auto operation = static_cast<sim::Verb>(random.below(3));
        const sim::Flow flow = flow_of(1 + random.below(4000), operation);
        const Routes routes(run.setup.graph);
        sim::Flow nothing = flow;
        nothing.bytes = 0;
        // What the other way adds is the same for an empty message, whose one packet is known.
        const Ideal ideal(run.setup, routes);
        EXPECT_EQ(ideal.of(flow) - ideal.of(nothing),
                  step_by_step(run.setup, flow) - step_by_step(run.setup, nothing));
    }
}

TEST(Ideal, a_fabric_that_cuts_through_pays_the_packet_once_and_its_headers_at_each_switch) {
    testing::MadeRun run = chain(5);
    run.setup.fabric.node.forwarding = fabric::Forwarding::cut_through;
    run.setup.fabric.link.delay = 1_ns;
    const Routes routes(run.setup.graph);
    EXPECT_EQ(Ideal(run.setup, routes).of(flow_of(100)),
              base::Duration{(198 + 86 + 10 * 64) * 20} + 12_ns);
}

TEST(Ideal, a_cable_has_its_own_rate_and_a_delay_by_its_length) {
    testing::MadeRun run = chain(1);
    run.setup.graph.cables[0].rate_bps = 100'000'000'000;
    run.setup.graph.cables[0].length_mm = 20'000;
    EXPECT_EQ(cable_rate(run.setup, 0), Rate::bits_per_second(100'000'000'000));
    EXPECT_EQ(cable_delay(run.setup, 0), 100_ns);
    EXPECT_EQ(cable_rate(run.setup, 1), run.setup.fabric.link.rate);
    EXPECT_EQ(cable_delay(run.setup, 1), run.setup.fabric.link.delay);
}

TEST(Ideal, a_flow_that_is_told_its_path_is_reckoned_on_that_path) {
    testing::MadeRun run = testing::leaf_spine(2, 2, 1);
    const uint32_t slow = run.link("s0", "s3").cable;
    run.setup.graph.cables[slow].rate_bps = 100'000'000'000;
    sim::Flow flow = flow_of(1'000'000);
    const Routes routes(run.setup.graph);
    const base::Duration fast = Ideal(run.setup, routes).of(flow);
    run.setup.paths.push_back(
        {{run.node("h0"), run.node("s0"), run.node("s3"), run.node("s1"), run.node("h1")}, {}});
    flow.path = 0;
    EXPECT_GT(Ideal(run.setup, routes).of(flow), 3 * fast);
}

TEST(Routes, the_first_of_equal_paths_is_shortest_and_both_may_be_crossed) {
    testing::MadeRun run = testing::leaf_spine(3, 2, 2);
    const Routes routes(run.setup.graph);
    const auto path = routes.path(run.node("h0"), run.node("h3"));
    ASSERT_EQ(path.size(), 4u);
    EXPECT_EQ(routes.path(run.node("h0"), run.node("h1")).size(), 2u);
    const auto may_cross = [&](const char* from, const char* to) {
        const sim::LinkResult& link = run.link(from, to);
        return routes.may_cross(run.node("h0"), run.node("h3"), {link.node, link.port});
    };
    EXPECT_TRUE(may_cross("s0", "s3"));
    EXPECT_TRUE(may_cross("s0", "s4"));
    EXPECT_TRUE(may_cross("s4", "s1"));
    EXPECT_TRUE(may_cross("s1", "h3"));
    EXPECT_FALSE(may_cross("s4", "s2"));
    EXPECT_FALSE(may_cross("s1", "h2"));
    EXPECT_FALSE(may_cross("s3", "s0"));
}

}  // namespace
}  // namespace tulle::report
