// Switches and cables that differ from the rest of their fabric.
#include "lab.h"

namespace tulle::exact {
namespace {

// Host, two switches, host; nodes 0, 2, 3 and 1. The last cable is the slow one.
Lab narrow_end() {
    Lab lab = plain(chain({400, 400, 100}));
    lab.flows = {{.source = 0, .destination = 1, .bytes = 1'000'000}};
    return lab;
}

TEST(OneSwitch, has_a_buffer_of_its_own) {
    Lab lab = narrow_end();
    lab.host.ack_timeout = 8;
    EXPECT_EQ(dropped(run(lab), sim::Drop::buffer_full), 0u);
    fabric::Settings small = lab.fabric;
    small.node.port_buffer_bytes = 50'000;
    lab.switches = {{2, small}};  // nothing waits there
    EXPECT_EQ(dropped(run(lab), sim::Drop::buffer_full), 0u);
    lab.switches = {{3, small}};
    const Result result = run(lab);
    EXPECT_GT(dropped(result, sim::Drop::buffer_full), 0u);
    EXPECT_LE(link(result, 3, 1).peak_queue_bytes, 50'000u);
}

TEST(OneSwitch, has_thresholds_of_its_own) {
    Lab lab = narrow_end();
    lab.fabric.marking = fabric::Marking::ecn;
    lab.fabric.ecn = {.kmin_bytes = 10'000'000, .kmax_bytes = 20'000'000};
    lab.flows[0].traffic_class = 2;
    EXPECT_EQ(run(lab).totals.ecn_marked, 0u);
    fabric::Settings eager = lab.fabric;
    eager.ecn = {.kmin_bytes = 10'000, .kmax_bytes = 20'000};
    lab.switches = {{3, eager}};
    EXPECT_GT(run(lab).totals.ecn_marked, 100u);
}

TEST(OneSwitch, has_a_latency_of_its_own) {
    Lab lab = plain(chain({400, 400, 400}));
    const Duration before = completion(lab, 1);
    fabric::Settings slow = lab.fabric;
    slow.node.latency = 700_ns;
    lab.switches = {{3, slow}};
    EXPECT_EQ(completion(lab, 1), before + 2 * 700_ns);  // there, and back with the ACK
}

TEST(OneCable, may_lose_packets_in_one_direction) {
    constexpr uint64_t kAll = 1'000'000'000'000;
    Lab lab = plain(chain({400, 400}));
    lab.flows = {{.source = 0, .destination = 1, .bytes = 40'960}};
    lab.stop = Instant{} + 1_ms;
    // The cable from the switch, its end a, to the last host.
    sim::CableErrors errors;
    errors.cable = 1;
    errors.from_b = false;
    errors.loss_per_trillion = kAll;
    lab.cable_errors = {errors};
    EXPECT_EQ(dropped(run(lab), sim::Drop::corrupted), 10u);
    lab.cable_errors[0].from_a = false;
    lab.cable_errors[0].from_b = true;
    const Result result = run(lab);
    EXPECT_EQ(dropped(result, sim::Drop::corrupted), 1u);  // the ACK
    EXPECT_FALSE(result.flows[0].finished);
}

TEST(OneCable, may_have_bit_errors) {
    Lab lab = plain(chain({400, 400}));
    lab.flows = {{.source = 0, .destination = 1, .bytes = 40'960}};
    lab.stop = Instant{} + 1_ms;
    sim::CableErrors errors;
    errors.error_rate_e18 = 1'000'000'000'000'000'000;
    lab.cable_errors = {errors};
    EXPECT_EQ(dropped(run(lab), sim::Drop::corrupted), 10u);
}

// Host 0 is paused, since what it sends leaves the switch ten times more slowly. Host 1 waits for
// its acknowledgement.
TEST(Answers, may_leave_a_host_that_is_paused) {
    Lab lab = plain("star:3");
    lab.graph.cables[2].rate_bps = 40 * kGiga;
    lab.fabric.flow_control = fabric::FlowControl::pfc;
    lab.fabric.pfc.priorities = 1;
    lab.fabric.pfc.dynamic_threshold = false;
    lab.fabric.pfc.xoff_bytes = 50'000;
    lab.flows = {{.source = 0, .destination = 2, .bytes = 4'000'000},
                 {.source = 1, .destination = 0, .bytes = 4096, .start = Instant{} + 100_us}};
    lab.stop = Instant{} + 2_ms;
    const Result waits = run(lab);
    EXPECT_GT(waits.totals.pause_frames, 0u);
    lab.host.answers_pass_pauses = true;
    const Result passes = run(lab);
    lab.flows.erase(lab.flows.begin());
    const Duration alone = run(lab).flows[0].completion;
    EXPECT_GT(waits.flows[1].completion, alone + 1_us);
    EXPECT_LE(passes.flows[1].completion, alone + 84_ns);  // a packet that has begun
}

// ns-3's way of counting a buffer: headroom of three delays and a reserve a port are part of it.
TEST(WholeBuffer, is_shared_only_beyond_headroom_and_reserves) {
    Lab lab = plain(chain({100, 100}));
    lab.fabric.flow_control = fabric::FlowControl::pfc;
    lab.fabric.pfc.priorities = 1;
    lab.fabric.pfc.headroom_delays = 3;  // 37,500 bytes at 100 Gb/s and 1 us
    lab.fabric.node.buffer_holds_all = true;
    lab.fabric.node.buffer_bytes = 2 * (37'500 + 4'096);
    lab.flows = {{.source = 0, .destination = 1, .bytes = 4096}};
    const auto result = drive::run(lab, {});
    ASSERT_FALSE(result.ok());
    EXPECT_NE(result.error().message.find("reserves and headroom"), std::string::npos);
    lab.fabric.node.buffer_bytes += 10'000;
    EXPECT_TRUE(run(lab).flows[0].finished);
}

}  // namespace
}  // namespace tulle::exact
