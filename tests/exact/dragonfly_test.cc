// UGAL on dragonflies: short ways where they are free, detours where they are not.
#include <algorithm>

#include "lab.h"

namespace tulle::exact {
namespace {

Lab dragonfly(fabric::PathChoice choice) {
    Lab setup = plain("dragonfly:a=8,p=2,h=1");
    setup.fabric.route.choice = choice;
    setup.fabric.route.group_lanes = true;
    setup.host.loss = transport::LossPolicy::selective_repeat;
    setup.host.delivery = transport::Delivery::placed;
    setup.host.reorder_tolerance = 1'000;
    setup.host.ack_timeout = 14;
    setup.host.ack_every = 16;
    // Full buffers are how a switch learns that the next one is busy.
    setup.fabric.flow_control = fabric::FlowControl::credits;
    setup.fabric.credits.lane_buffer_bytes = 64 << 10;
    return setup;
}

// Each group sends to the next one, over one cable of 400 Gb/s.
void send_to_next_group(Lab& setup, uint64_t bytes) {
    for (uint32_t source = 0; source < 144; ++source)
        setup.flows.push_back(
            {.source = source, .destination = (source + 16) % 144, .bytes = bytes});
}

double slowest_us(const Result& result) {
    double slowest = 0;
    for (const sim::FlowResult& flow : result.flows) {
        EXPECT_TRUE(flow.finished);
        slowest = std::max(slowest, static_cast<double>(flow.completion.ps) / 1e6);
    }
    return slowest;
}

TEST(Ugal, a_lone_packet_takes_the_short_way) {
    for (const uint32_t to : {1u, 2u, 16u, 60u, 143u}) {
        std::vector<Duration> took;
        for (const auto choice : {fabric::PathChoice::ugal, fabric::PathChoice::adaptive}) {
            Lab setup = dragonfly(choice);
            setup.flows = {{.source = 0, .destination = to, .bytes = 1'000}};
            took.push_back(run(setup).flows[0].completion);
        }
        EXPECT_EQ(took[0], took[1]) << to;
    }
}

// Sixteen hosts share one cable, but for the few whose way by another group is no longer. With
// detours a group has eight cables, and each byte takes two of some group: four times the line's
// time is the best there is.
TEST(Ugal, detours_carry_what_one_cable_cannot) {
    constexpr uint64_t kBytes = 1'000'000;
    const double line = static_cast<double>(kBytes) * (4096.0 + kOverhead) / 4096 * 20 / 1e6;
    Lab minimal = dragonfly(fabric::PathChoice::adaptive);
    send_to_next_group(minimal, kBytes);
    const double without = slowest_us(run(minimal));
    EXPECT_GT(without, 15 * line);
    Lab detours = dragonfly(fabric::PathChoice::ugal);
    send_to_next_group(detours, kBytes);
    const double slowest = slowest_us(run(detours));
    EXPECT_GT(slowest, 4 * line);
    EXPECT_LT(slowest, 8 * line);
    EXPECT_GT(without, 3 * slowest);
}

// An ordered flow moves after a gap only: its packets come in order, so nothing is sent again,
// however many flows pass a switch, and where there are no groups, too.
TEST(Ugal, with_a_gap_flows_keep_their_order) {
    for (const char* topology :
         {"dragonfly:a=8,p=2,h=4,groups=9", "leaf-spine:leaves=4,spines=4,hosts=8"}) {
        Lab setup = dragonfly(fabric::PathChoice::ugal);
        setup.graph = *topology::build_spec(topology);
        setup.fabric.route.flowlet_gap = 1_ms;
        setup.host.loss = transport::LossPolicy::go_back_n;
        setup.host.delivery = transport::Delivery::ordered;
        const auto hosts = static_cast<uint32_t>(setup.graph.host_count());
        for (const uint32_t by : {11u, 16u})
            for (uint32_t source = 0; source < hosts; ++source)
                setup.flows.push_back(
                    {.source = source, .destination = (source + by) % hosts, .bytes = 200'000});
        const Result result = run(setup);
        slowest_us(result);
        EXPECT_EQ(result.totals.retransmitted, 0u) << topology;
    }
}

// Buffers of three packets, full everywhere: a lane more for each group lets no circle form.
TEST(Ugal, lanes_keep_full_buffers_from_waiting_for_each_other) {
    Lab setup = dragonfly(fabric::PathChoice::ugal);
    setup.fabric.credits.lane_buffer_bytes = 16 << 10;
    send_to_next_group(setup, 300'000);
    for (uint32_t source = 0; source < 144; ++source)
        setup.flows.push_back(
            {.source = source, .destination = (source + 35) % 144, .bytes = 300'000});
    const Result result = run(setup);
    slowest_us(result);
    EXPECT_EQ(dropped(result, sim::Drop::head_of_queue), 0u);
    const Result again = run(setup, 3);
    for (size_t i = 0; i < result.flows.size(); ++i)
        EXPECT_EQ(result.flows[i].completion, again.flows[i].completion);
}

}  // namespace
}  // namespace tulle::exact
