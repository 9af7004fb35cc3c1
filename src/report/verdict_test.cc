#include "report/verdict.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "report/testing.h"

namespace tulle::report {
namespace {

using namespace base::literals;
using sim::Drop;
using testing::find;
using testing::leaf_spine;
using testing::MadeRun;
using testing::star;

// Every word of it is in the sentence, so a person can find the place.
void expect_says(const Finding* finding, std::initializer_list<std::string> words) {
    ASSERT_NE(finding, nullptr);
    for (const std::string& word : words)
        EXPECT_NE(finding->sentence.find(word), std::string::npos)
            << "'" << word << "' is not in: " << finding->sentence;
}

void lose(MadeRun& run, sim::LinkResult& link, Drop cause, uint64_t packets) {
    link.dropped[static_cast<size_t>(cause)] += packets;
    run.result.totals.dropped[static_cast<size_t>(cause)] += packets;
}

// Sixteen hosts send to h16: the fabric does what can be done.
MadeRun healthy_incast() {
    MadeRun run = star(17);
    for (uint32_t i = 0; i < 16; ++i) run.flow(i, 16);
    const Duration took = Facts(run.setup, run.result).limit * 100 / 97;
    for (sim::FlowResult& flow : run.result.flows) flow.completion = took;
    run.result.time = Instant{} + took;
    run.link("s0", "h16").busy = took * 97 / 100;
    run.link("s0", "h16").flows = 16;
    return run;
}

TEST(Verdict, a_healthy_run_has_no_findings_and_says_how_close_to_the_limit_it_was) {
    const Verdict verdict = healthy_incast().verdict();
    EXPECT_TRUE(verdict.findings.empty());
    EXPECT_TRUE(verdict.complete);
    EXPECT_EQ(verdict.limit_permille, 970u);
    EXPECT_EQ(verdict.bottleneck->link, "s0[16] -> h16");
    EXPECT_EQ(verdict.bottleneck->busy_permille, 970u);
    EXPECT_EQ(verdict.sentence,
              "nothing held it up: 97 % of the limit; s0[16] -> h16 set the pace, 97.0 % busy");
}

TEST(Verdict, the_limit_is_what_the_receiver_s_link_carries) {
    MadeRun run = star(3);
    run.flow(0, 2, 2000);
    run.flow(1, 2, 2000);
    const Facts facts(run.setup, run.result);
    // One flow alone, and the other one's bytes on the link that they share.
    const uint64_t bytes = flow_wire_bytes(run.setup, run.setup.flows[1]);
    EXPECT_EQ(facts.limit, facts.ideal_of(0) + run.setup.fabric.link.rate.time_for(bytes));
}

TEST(Verdict, the_flow_that_suffered_most_is_named) {
    MadeRun run = star(4);
    run.flow(0, 1);
    run.flow(2, 3, 1100);
    const Verdict verdict = run.verdict();
    EXPECT_EQ(verdict.slowest->flow, 1u);
    EXPECT_EQ(verdict.slowest->slowdown_permille, 1100u);
}

TEST(Verdict, a_pause_is_followed_to_the_port_that_is_not_paused_itself) {
    MadeRun run = leaf_spine(2, 1, 4);
    for (uint32_t i = 0; i < 3; ++i) run.flow(i, 7, 3000);
    run.blame("h0", "s0", "s0", "s2", 50_us);
    run.blame("s0", "s2", "s2", "s1", 48_us);
    run.blame("s2", "s1", "s1", "h7", 45_us);
    const Verdict verdict = run.verdict();
    const Finding* finding = find(verdict, FindingKind::pauses);
    ASSERT_NE(finding, nullptr);
    EXPECT_EQ(finding->culprit, "s1[3] -> h7");
    expect_says(finding, {"s1[3] -> h7", "h0 for 50 us"});
    EXPECT_EQ(find(verdict, FindingKind::slow_receiver), nullptr);
    EXPECT_EQ(find(verdict, FindingKind::victims), nullptr);
}

TEST(Verdict, a_port_that_was_paused_for_a_moment_only_is_a_root_all_the_same) {
    MadeRun run = leaf_spine(2, 1, 2);
    run.flow(0, 3, 3000);
    run.blame("h0", "s0", "s0", "s2", 50_us);
    run.blame("s0", "s2", "s2", "s1", 2_us);
    EXPECT_EQ(find(run.verdict(), FindingKind::pauses)->culprit, "s0[2] -> s2");
}

TEST(Verdict, a_host_that_pauses_its_link_is_a_slow_receiver) {
    MadeRun run = star(3);
    run.flow(0, 2, 3000);
    run.flow(1, 2, 3000);
    run.blame("h0", "s0", "s0", "h2", 30_us);
    run.blame("s0", "h2", "h2", "s0", 31_us);
    const Verdict verdict = run.verdict();
    const Finding* finding = find(verdict, FindingKind::slow_receiver);
    ASSERT_NE(finding, nullptr);
    EXPECT_EQ(finding->culprit, "h2");
    expect_says(finding, {"host h2", "slow receiver", "h0 for 30 us"});
    EXPECT_EQ(find(verdict, FindingKind::pauses), nullptr);
}

TEST(Verdict, a_port_that_is_held_up_by_its_host_leads_there_even_if_nobody_is_blamed_for_it) {
    MadeRun run = star(3);
    run.flow(0, 2, 3000);
    run.blame("h0", "s0", "s0", "h2", 30_us);
    run.link("s0", "h2").paused = 40_us;
    const Verdict verdict = run.verdict();
    expect_says(find(verdict, FindingKind::slow_receiver), {"host h2", "h0 for 30 us"});
    EXPECT_EQ(find(verdict, FindingKind::pauses), nullptr);
}

TEST(Verdict, an_idle_port_is_not_the_root_where_another_of_its_switch_was_held_up) {
    MadeRun run = star(4);
    run.flow(0, 2, 3000);
    run.blame("h0", "s0", "s0", "h3", 30_us);
    run.link("s0", "h2").paused = 35_us;
    EXPECT_EQ(find(run.verdict(), FindingKind::slow_receiver)->culprit, "h2");
}

TEST(Verdict, a_root_that_is_small_beside_the_worst_is_left_out) {
    MadeRun run = star(5);
    run.flow(0, 2, 3000);
    run.flow(1, 3, 3000);
    run.blame("h0", "s0", "s0", "h2", 40_us);
    run.blame("h1", "s0", "s0", "h3", 3_us);
    const Verdict verdict = run.verdict();
    EXPECT_EQ(verdict.findings.size(), 1u);
    EXPECT_EQ(verdict.findings[0].culprit, "s0[2] -> h2");
}

TEST(Verdict, a_host_that_never_lets_go_is_called_broken) {
    MadeRun run = star(3);
    run.flow(0, 2, 3000);
    run.blame("s0", "h2", "h2", "s0", run.result.flows[0].completion * 95 / 100);
    expect_says(find(run.verdict(), FindingKind::slow_receiver), {"host h2", "broken adapter"});
}

TEST(Verdict, pauses_of_less_than_a_hundredth_of_the_run_are_not_worth_a_word) {
    MadeRun run = star(3);
    run.flow(0, 2, 1000);
    run.blame("h0", "s0", "s0", "h2", 100_ns);
    EXPECT_TRUE(run.verdict().findings.empty());
}

TEST(Verdict, blames_in_a_circle_end_the_search) {
    MadeRun run = leaf_spine(2, 2, 1);
    run.flow(0, 1, 3000);
    run.blame("s0", "s2", "s2", "s1", 30_us);
    run.blame("s2", "s1", "s0", "s2", 30_us);
    EXPECT_NE(find(run.verdict(), FindingKind::pauses), nullptr);
}

// h0 and h1 send to h2, h0 also to h3: its packets for h3 stand behind those for h2.
MadeRun with_a_bystander(uint64_t slowdown_permille) {
    MadeRun run = leaf_spine(2, 1, 2);
    run.flow(0, 2, 2500);
    run.flow(1, 2, 2500);
    run.flow(0, 3, slowdown_permille);
    run.blame("h0", "s0", "s0", "s2", 20_us);
    run.blame("s0", "s2", "s2", "s1", 20_us);
    run.blame("s2", "s1", "s1", "h2", 20_us);
    return run;
}

TEST(Verdict, a_flow_that_does_not_cross_the_congested_port_is_its_victim) {
    const Verdict verdict = with_a_bystander(2500).verdict();
    const Finding* finding = find(verdict, FindingKind::victims);
    ASSERT_NE(finding, nullptr);
    EXPECT_EQ(finding->culprit, "s1[0] -> h2");
    expect_says(finding, {"1 flow", "s1[0] -> h2", "flow 2 (h0 -> h3)", "2.50 times"});
}

TEST(Verdict, a_bystander_that_was_not_slowed_is_no_victim) {
    EXPECT_EQ(find(with_a_bystander(1100).verdict(), FindingKind::victims), nullptr);
}

TEST(Verdict, a_slow_flow_that_crosses_nothing_paused_is_no_victim) {
    MadeRun run = with_a_bystander(1100);
    run.flow(3, 2, 2500);  // the port of its own leaf is the root
    run.flow(2, 3, 2500);  // and this one never leaves the other leaf
    EXPECT_EQ(find(run.verdict(), FindingKind::victims), nullptr);
}

TEST(Verdict, a_flow_in_another_lane_is_no_victim) {
    MadeRun run = with_a_bystander(2500);
    run.setup.flows[2].service_level = 3;
    EXPECT_EQ(find(run.verdict(), FindingKind::victims), nullptr);
}

// Four flows from leaf to leaf over four spines.
MadeRun over_four_spines(const std::vector<uint64_t>& flows_on_each) {
    MadeRun run = leaf_spine(2, 4, 4);
    for (uint32_t i = 0; i < 4; ++i) run.flow(i, 4 + i, 2000);
    for (uint32_t spine = 0; spine < 4; ++spine) {
        sim::LinkResult& link = run.link("s0", fmt::format("s{}", 2 + spine));
        link.flows = flows_on_each[spine];
        link.wire_bytes = flows_on_each[spine] << 20;
        link.busy = run.result.flows[0].completion * static_cast<int64_t>(link.flows) / 4;
    }
    return run;
}

TEST(Verdict, uplinks_that_the_hash_filled_unevenly_are_told_with_the_fullest) {
    const Verdict verdict = over_four_spines({2, 0, 1, 1}).verdict();
    const Finding* finding = find(verdict, FindingKind::uneven_paths);
    ASSERT_NE(finding, nullptr);
    EXPECT_EQ(finding->culprit, "s0[4] -> s2");
    expect_says(finding,
                {"ECMP", "s0[4] -> s2", "2.00 times", "4 equal paths of s0", "2, 0, 1, 1"});
}

TEST(Verdict, a_flow_an_uplink_is_even) {
    EXPECT_EQ(find(over_four_spines({1, 1, 1, 1}).verdict(), FindingKind::uneven_paths), nullptr);
}

TEST(Verdict, one_flow_on_four_uplinks_cannot_be_more_even) {
    MadeRun run = leaf_spine(2, 4, 1);
    run.flow(0, 1, 2000);
    sim::LinkResult& link = run.link("s0", "s2");
    link.flows = 1;
    link.wire_bytes = 1 << 20;
    link.busy = run.result.flows[0].completion * 9 / 10;
    EXPECT_EQ(find(run.verdict(), FindingKind::uneven_paths), nullptr);
}

TEST(Verdict, uplinks_that_the_spanning_tree_leaves_idle_are_named) {
    MadeRun run = over_four_spines({4, 0, 0, 0});
    run.link("s0", "s2").data_packets = 100;
    run.link("s1", "s2").data_packets = 100;
    EXPECT_EQ(find(run.verdict(), FindingKind::idle_paths), nullptr);
    run.setup.fabric.route.kind = fabric::RouteKind::spanning_tree;
    const Verdict verdict = run.verdict();
    expect_says(find(verdict, FindingKind::idle_paths), {"6 of 8 cables", "s0[5] - s3[0]"});
    EXPECT_EQ(find(verdict, FindingKind::uneven_paths), nullptr);
}

TEST(Verdict, losses_are_told_by_cause_with_the_place_and_the_reason) {
    MadeRun run = star(3);
    run.flow(0, 2, 1200);
    lose(run, run.link("s0", "h2"), Drop::buffer_full, 7);
    lose(run, run.link("s0", "h1"), Drop::buffer_full, 2);
    run.result.totals.retransmitted = 9;
    const Verdict verdict = run.verdict();
    expect_says(find(verdict, FindingKind::losses),
                {"9 packets", "full buffer", "s0[2] -> h2", "no flow control"});
    EXPECT_EQ(find(verdict, FindingKind::needless_resending), nullptr);
}

TEST(Verdict, headroom_that_is_too_small_is_compared_with_what_the_cable_needs) {
    MadeRun run = star(3);
    run.setup.fabric.flow_control = fabric::FlowControl::pfc;
    run.setup.fabric.pfc.headroom_bytes = 10 << 10;
    run.flow(0, 2, 1200);
    lose(run, run.link("s0", "h2"), Drop::headroom_full, 1);
    // 2 us of cable at 400 Gb/s are 100,000 bytes, and two packets of 4,194.
    expect_says(find(run.verdict(), FindingKind::losses),
                {"1 packet ", "headroom is 10 KiB", "about 105.848 KiB"});
}

TEST(Verdict, a_cable_that_went_down_is_named_with_the_time) {
    MadeRun run = star(3);
    run.flow(0, 2, 1200);
    sim::Fault fault;
    fault.subject = run.link("s0", "h1").cable;
    fault.at = Instant{} + 5_us;
    run.setup.faults.push_back(fault);
    lose(run, run.link("h1", "s0"), Drop::link_down, 3);
    expect_says(find(run.verdict(), FindingKind::losses), {"h1 - s0[1] went down at 5 us"});
}

MadeRun paused_with_ecn() {
    MadeRun run = star(3);
    run.setup.fabric.flow_control = fabric::FlowControl::pfc;
    run.setup.fabric.marking = fabric::Marking::ecn;
    run.setup.fabric.pfc.dynamic_threshold = false;
    run.setup.fabric.pfc.xoff_bytes = 64 << 10;
    run.setup.fabric.ecn.kmax_bytes = 400 << 10;
    run.flow(0, 2, 2000);
    run.flow(1, 2, 2000);
    run.blame("h0", "s0", "s0", "h2", 20_us);
    return run;
}

TEST(Verdict, pauses_without_marks_say_that_pfc_was_the_only_brake) {
    expect_says(find(paused_with_ecn().verdict(), FindingKind::pfc_only_brake),
                {"only brake", "h0 -> s0", "Kmax (400 KiB) lies above XOFF (64 KiB)"});
}

TEST(Verdict, with_marks_pfc_was_not_the_only_brake) {
    MadeRun run = paused_with_ecn();
    run.result.totals.ecn_marked = 1;
    EXPECT_EQ(find(run.verdict(), FindingKind::pfc_only_brake), nullptr);
}

TEST(Verdict, a_deadlock_is_named_link_by_link_with_its_lanes) {
    MadeRun run = leaf_spine(2, 2, 1);
    run.setup.fabric.flow_control = fabric::FlowControl::credits;
    run.flow(0, 1);
    run.result.flows[0].finished = false;
    run.result.end = sim::Result::End::stuck;
    for (const auto& [from, to] : {std::pair{"s0", "s2"}, {"s2", "s1"}, {"s1", "s0"}}) {
        if (std::string(to) == "s0") break;
        const sim::LinkResult& link = run.link(from, to);
        run.result.deadlock.push_back({link.node, link.port, 2});
    }
    const Verdict verdict = run.verdict();
    EXPECT_EQ(verdict.findings.front().kind, FindingKind::deadlock);
    EXPECT_EQ(verdict.findings.front().severity, Severity::failure);
    expect_says(&verdict.findings.front(),
                {"s0[1] -> s2 (VL 2) waits for s2[1] -> s1 (VL 2) waits for the first"});
    EXPECT_NE(verdict.sentence.find("deadlock"), std::string::npos);
}

TEST(Verdict, flows_that_failed_are_counted_and_the_first_is_named) {
    MadeRun run = star(3);
    run.flow(0, 1);
    run.flow(1, 2);
    run.result.flows[1].status = transport::Status::retry_exceeded;
    const Verdict verdict = run.verdict();
    EXPECT_FALSE(verdict.complete);
    expect_says(find(verdict, FindingKind::flows_failed),
                {"1 of 2 flows", "flow 1 (h1 -> h2)", "retry_exceeded"});
}

TEST(Verdict, flows_that_failed_are_told_with_what_is_likely_the_cause) {
    MadeRun run = star(3);
    run.flow(0, 1);
    run.result.flows[0].status = transport::Status::retry_exceeded;
    lose(run, run.link("s0", "h1"), Drop::link_down, 3);
    const std::string sentence = run.verdict().sentence;
    EXPECT_NE(sentence.find("1 of 1 flows"), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("the cable was down"), std::string::npos) << sentence;
}

TEST(Verdict, resending_without_loss_under_spraying_is_laid_to_the_order) {
    MadeRun run = star(3);
    run.setup.fabric.route.choice = fabric::PathChoice::spray;
    run.flow(0, 1, 1300);
    run.result.totals.retransmitted = 12;
    expect_says(find(run.verdict(), FindingKind::needless_resending),
                {"12 packets", "out of order", "go-back-N", "flow 0 (h0 -> h1)"});
}

TEST(Verdict, resending_without_loss_on_one_path_is_laid_to_the_timeout) {
    MadeRun run = star(3);
    run.flow(0, 1, 1300);
    run.result.totals.retransmitted = 1;
    expect_says(find(run.verdict(), FindingKind::needless_resending), {"1 packet ", "timeout"});
}

// A large flow and small messages to the same host, or to another one.
MadeRun with_a_neighbour(uint32_t destination_of_small) {
    MadeRun run = star(4);
    run.setup.groups = {"backup", "storage"};
    run.flow(0, 2, 1050, 64 << 20);
    for (int i = 0; i < 10; ++i) run.flow(1, destination_of_small, 9000, 1 << 10);
    for (size_t i = 1; i < run.setup.flows.size(); ++i) run.setup.flows[i].group = 1;
    run.link("s0", "h2").busy = run.result.flows[0].completion * 95 / 100;
    return run;
}

TEST(Verdict, a_class_that_waits_behind_another_in_its_lane_has_a_noisy_neighbour) {
    const Verdict verdict = with_a_neighbour(2).verdict();
    const Finding* finding = find(verdict, FindingKind::noisy_neighbour);
    ASSERT_NE(finding, nullptr);
    EXPECT_EQ(finding->culprit, "flow 0 (h0 -> h2)");
    expect_says(finding, {"backup", "storage", "s0[2] -> h2", "9.00 (theirs 1.05)"});
}

TEST(Verdict, classes_that_do_not_meet_are_no_neighbours) {
    EXPECT_EQ(find(with_a_neighbour(3).verdict(), FindingKind::noisy_neighbour), nullptr);
}

TEST(Verdict, a_class_that_sends_as_much_as_the_other_is_as_noisy) {
    MadeRun run = with_a_neighbour(2);
    run.setup.flows[0].bytes = 10 << 10;
    EXPECT_EQ(find(run.verdict(), FindingKind::noisy_neighbour), nullptr);
}

TEST(Verdict, classes_in_lanes_of_their_own_are_no_neighbours) {
    MadeRun run = with_a_neighbour(2);
    run.setup.flows[0].service_level = 1;
    EXPECT_EQ(find(run.verdict(), FindingKind::noisy_neighbour), nullptr);
}

TEST(Verdict, ends_of_a_cable_that_disagree_are_named) {
    MadeRun run = star(2);
    run.flow(0, 1);
    run.result.disagreements.push_back({0, "h0 protects priority 3, s0 does not"});
    expect_says(find(run.verdict(), FindingKind::dcbx_disagreement),
                {"h0 - s0[0]", "priority 3", "nothing was lost by it in this run"});
    run.result.disagreements.push_back({1, "neither does h1"});
    run.link("s0", "h1").dropped[static_cast<size_t>(sim::Drop::buffer_full)] = 7;
    expect_says(find(run.verdict(), FindingKind::dcbx_disagreement),
                {"7 packets lost to full buffers there", "1 more cable has such ends"});
}

TEST(Verdict, a_host_that_sends_to_another_tenant_is_named_with_the_place_that_refuses_it) {
    MadeRun run = star(4);
    run.flow(0, 1);
    run.setup.tenants = {{"red", 1, 2, {0, 2}, {}}, {"blue", 2, 3, {1}, {}}};
    run.setup.fabric.framing.encapsulation = wire::Encapsulation::infiniband_local;
    run.result.violations = {{0, 1, run.node("s0"), 1, false, 12},
                             {0, 3, run.node("h3"), 0, false, 2}};
    expect_says(find(run.verdict(), FindingKind::other_tenant),
                {"h0 of tenant red sent to h1 of tenant blue: 12 packets dropped at s0[1] -> h1 "
                 "(PortXmitConstraintErrors)",
                 "14 packets in all, of 2 pairs of hosts"});
    run.result.violations[0].packets = 1;
    expect_says(find(run.verdict(), FindingKind::other_tenant),
                {"h3 of no tenant: 2 packets dropped at h3 (P_KeyViolations)"});
}

TEST(Verdict, two_limited_members_of_a_tenant_are_no_strangers) {
    MadeRun run = star(3);
    run.flow(0, 1);
    run.setup.tenants = {{"red", 1, 2, {2}, {0, 1}}};
    run.result.violations = {{0, 1, run.node("s0"), 1, true, 5}};
    expect_says(find(run.verdict(), FindingKind::other_tenant),
                {"h0 sent to h1, and both are limited members of tenant red: 5 packets dropped"});
}

TEST(Verdict, a_full_link_between_switches_is_named_where_the_hosts_could_do_more) {
    MadeRun run = leaf_spine(2, 1, 4);
    for (uint32_t i = 0; i < 4; ++i) run.flow(i, 4 + i, 4000);
    sim::LinkResult& link = run.link("s0", "s2");
    link.busy = run.result.flows[0].completion * 97 / 100;
    link.flows = 4;
    const Verdict verdict = run.verdict();
    expect_says(find(verdict, FindingKind::full_link), {"s0[4] -> s2", "97.0 %", "4 flows"});
    EXPECT_EQ(find(verdict, FindingKind::senders_held_back), nullptr);
}

TEST(Verdict, senders_that_hold_back_are_told_where_no_link_was_full) {
    MadeRun run = leaf_spine(2, 1, 4);
    for (uint32_t i = 0; i < 4; ++i) run.flow(i, 4 + i, 4000);
    run.link("s0", "s2").busy = run.result.flows[0].completion * 40 / 100;
    run.result.totals.ecn_marked = 5;
    run.setup.host.congestion = transport::Algorithm::dcqcn;
    expect_says(find(run.verdict(), FindingKind::senders_held_back),
                {"40.0 % busy", "5 marks", "congestion control"});
    run.setup.host.congestion = transport::Algorithm::none;
    EXPECT_EQ(run.verdict().sentence.find("congestion"), std::string::npos);
}

TEST(Verdict, a_host_that_is_busy_with_its_own_data_sets_the_pace) {
    MadeRun run = star(4);
    run.phase("all_reduce", workload::Collective::all_reduce, 64 << 20, 40_ms);
    run.setup.host.receive_toll.rate = base::Rate::bits_per_second(10'000'000'000);
    run.setup.host.cpu.per_byte_received_e18 = 1;
    sim::LinkResult& link = run.link("s0", "h2");
    link.busy = 4_ms;
    link.wire_bytes = 46 << 20;  // at 10 Gb/s nearly all of the time
    link.data_packets = link.wire_bytes / 4178;
    const Verdict verdict = run.verdict();
    const Finding* finding = find(verdict, FindingKind::host_set_the_pace);
    expect_says(finding, {"processors of h2", "10 Gb/s", "hosts.receive_toll", "10.0 % busy"});
    EXPECT_EQ(find(verdict, FindingKind::senders_held_back), nullptr);
}

// h0 and h1 write to h3 what fills its port; the job of h0 and h2, in the same lane, stands behind.
MadeRun stalled_by_storage() {
    MadeRun run = leaf_spine(2, 1, 2);
    const size_t storage =
        run.phase("checkpoint", workload::Collective::storage_write, 1 << 20, 1_ms);
    const size_t reduce = run.phase("all_reduce", workload::Collective::all_reduce, 1 << 20, 1_ms);
    workload::Program program;
    program.phases = run.setup.program.phases;
    program.jobs = run.setup.program.jobs;
    const auto message = [&](size_t phase, uint32_t from, uint32_t to) {
        workload::Task task;
        task.rank = from;
        task.peer = to;
        task.bytes = 1 << 20;
        task.phase = static_cast<uint32_t>(phase);
        program.add(task, {});
    };
    message(storage, 0, 3);
    message(storage, 1, 3);
    message(reduce, 0, 2);
    run.setup.program = std::move(program);
    run.result.phases[reduce].begin = {};
    run.blame("s0", "s2", "s2", "s1", 500_us);
    run.blame("s2", "s1", "s1", "h3", 500_us);
    run.link("s1", "h3").busy = 900_us;
    return run;
}

TEST(Verdict, a_phase_that_stood_behind_another_one_is_named_and_so_is_the_other_one) {
    MadeRun run = stalled_by_storage();
    const Verdict verdict = run.verdict();
    expect_says(find(verdict, FindingKind::pauses), {"s1[1] -> h3", "of checkpoint"});
    expect_says(find(verdict, FindingKind::victims),
                {"checkpoint filled s1[1] -> h3", "2 ports", "all_reduce took"});
    EXPECT_EQ(verdict.sentence.find("nothing"), std::string::npos);
}

TEST(Verdict, a_phase_that_began_when_the_other_one_had_ended_did_not_stand_behind_it) {
    MadeRun run = stalled_by_storage();
    run.result.phases[1].begin = run.result.phases[0].end;
    EXPECT_EQ(find(run.verdict(), FindingKind::victims), nullptr);
}

TEST(Verdict, a_phase_in_another_lane_did_not_stand_behind_it) {
    MadeRun run = stalled_by_storage();
    run.setup.fabric.qos.trust = fabric::Trust::service_level;
    run.setup.fabric.qos.lane_of_level[1] = 1;
    run.setup.program.jobs.push_back({"training", {}, 1, 0});
    run.setup.program.phases[1].job = 1;
    EXPECT_EQ(find(run.verdict(), FindingKind::victims), nullptr);
}

TEST(Verdict, senders_that_hold_back_come_before_pauses_that_explain_little) {
    MadeRun run = leaf_spine(2, 1, 4);
    for (uint32_t i = 0; i < 4; ++i) run.flow(i, 4 + i, 4000);
    run.link("s0", "s2").busy = run.result.flows[0].completion * 40 / 100;
    run.blame("h0", "s0", "s0", "s2", 2_us);
    const Verdict verdict = run.verdict();
    ASSERT_EQ(verdict.findings.size(), 2u);
    EXPECT_EQ(verdict.findings[0].kind, FindingKind::senders_held_back);
    EXPECT_EQ(verdict.findings[1].kind, FindingKind::pauses);
}

TEST(Verdict, a_run_that_was_interrupted_says_how_far_it_came) {
    MadeRun run = star(3);
    run.flow(0, 1);
    run.flow(1, 2);
    run.result.flows[1].finished = false;
    run.result.end = sim::Result::End::interrupted;
    EXPECT_EQ(run.verdict().sentence, "interrupted: 1 of 2 flows had ended");
}

TEST(Verdict, the_gravest_finding_comes_first) {
    MadeRun run = with_a_bystander(2500);
    run.result.flows[0].status = transport::Status::retry_exceeded;
    const Verdict verdict = run.verdict();
    ASSERT_GE(verdict.findings.size(), 3u);
    EXPECT_EQ(verdict.findings[0].kind, FindingKind::flows_failed);
    EXPECT_EQ(verdict.findings[1].kind, FindingKind::victims);
    EXPECT_EQ(verdict.findings[2].kind, FindingKind::pauses);
}

TEST(Verdict, a_program_that_sent_packets_again_for_nothing_has_no_flow_to_name) {
    MadeRun run = star(4);
    run.phase("all_reduce", workload::Collective::all_reduce, 64 << 20, 40_ms);
    run.result.totals.retransmitted = 10;
    const Verdict verdict = run.verdict();
    const Finding* finding = find(verdict, FindingKind::needless_resending);
    expect_says(finding, {"10 packets sent again although none was lost"});
    EXPECT_EQ(finding->sentence.find("flow"), std::string::npos);
}

}  // namespace
}  // namespace tulle::report
