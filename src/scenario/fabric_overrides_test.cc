#include "scenario/fabric_overrides.h"

#include <gtest/gtest.h>

#include "scenario/files_test.h"
#include "scenario/glob.h"
#include "scenario/scenario.h"

namespace tulle::scenario {
namespace {

base::Result<sim::Setup> read_with(std::string_view fabric,
                                   std::string_view profile = "roce-v2-400g") {
    std::string text = "topology: leaf-spine:leaves=2,spines=2,hosts=2,cables=2\n";
    text.append("work: [{shift: {by: 1, bytes: 1MB}}]\nprofile: ").append(profile);
    text.append("\nfabric:\n").append(fabric);
    return read_scenario(text, "s.yaml", files_in_memory({}), {});
}

std::string override_answer(std::string_view fabric, std::string_view profile = "roce-v2-400g") {
    const auto setup = read_with(fabric, profile);
    return setup ? "read" : setup.error().message;
}

// Hosts 0 to 3, leaf0 and leaf1 are nodes 4 and 5, spine0 and spine1 6 and 7.
const fabric::Settings* settings_of(const sim::Setup& setup, uint32_t node) {
    for (const sim::SwitchOverride& own : setup.switches)
        if (own.node == node) return &own.settings;
    return nullptr;
}

TEST(overrides, of_switches_are_put_on_top_of_the_fabric_in_their_order) {
    const auto setup = read_with(
        "  switches:\n"
        "    - {match: leaf*, switch: {buffer: 1MiB}, ecn: {kmin: 5KB, kmax: 10KB}}\n"
        "    - {match: [leaf1], switch: {buffer: 2MiB}}\n");
    ASSERT_TRUE(setup.ok()) << setup.error().message;
    ASSERT_EQ(setup->switches.size(), 2u);
    EXPECT_EQ(settings_of(*setup, 4)->node.buffer_bytes, 1u << 20);
    EXPECT_EQ(settings_of(*setup, 5)->node.buffer_bytes, 2u << 20);
    EXPECT_EQ(settings_of(*setup, 5)->ecn.kmin_bytes, 5'000u);
    EXPECT_EQ(settings_of(*setup, 5)->pfc.alpha_denominator, setup->fabric.pfc.alpha_denominator);
    EXPECT_EQ(settings_of(*setup, 6), nullptr);
}

TEST(overrides, of_cables_change_rate_and_delay_both_ways_and_errors_in_one) {
    const auto setup = read_with(
        "  cables:\n"
        "    - {match: spine1-leaf0#1, rate: 100Gbps, delay: 2us}\n"
        "    - {match: h0-leaf0, loss: 1e-3, error_rate: 1e-9, from: leaf0}\n");
    ASSERT_TRUE(setup.ok()) << setup.error().message;
    uint32_t changed = 0;
    for (const topology::Cable& cable : setup->graph.cables)
        if (cable.rate_bps != 0) {
            EXPECT_EQ(cable.rate_bps, 100'000'000'000u);
            EXPECT_EQ(cable.delay.ps, 2'000'000);
            ++changed;
        }
    EXPECT_EQ(changed, 1u);
    ASSERT_EQ(setup->cable_errors.size(), 1u);
    const sim::CableErrors& errors = setup->cable_errors[0];
    EXPECT_EQ(errors.cable, 0u);
    EXPECT_FALSE(errors.from_a);
    EXPECT_TRUE(errors.from_b);
    EXPECT_EQ(errors.loss_per_trillion, 1'000'000'000u);
    EXPECT_EQ(errors.error_rate_e18, 1'000'000'000u);
}

TEST(overrides, that_mean_nothing_are_refused_with_their_line) {
    EXPECT_EQ(override_answer("  switches: [{match: core*, switch: {buffer: 1MiB}}]\n"),
              "s.yaml:5: match: no switch is called 'core*'");
    EXPECT_EQ(override_answer("  switches: [{switch: {buffer: 1MiB}}]\n"),
              "s.yaml:5: which switch is missing; write match: leaf*");
    EXPECT_EQ(override_answer("  switches: [{match: leaf0, switch: {forwarding: cut_through}}]\n"),
              "s.yaml:5: switch.forwarding is the same at all switches; write it in fabric");
    EXPECT_EQ(override_answer("  switches: [{match: leaf0, switch: {bufer: 1MiB}}]\n"),
              "s.yaml:5: unknown key 'bufer' in fabric.switch; did you mean 'buffer'?");
    EXPECT_EQ(override_answer("  switches: [{match: leaf0, switch: {buffer: 1MiB}}]\n", "ib-ndr"),
              "s.yaml:5: fabric.switch.buffer has no effect, because with flow_control credits the "
              "buffers are credits.lane_buffer; change that, or remove this");
    EXPECT_EQ(override_answer("  cables: [{match: leaf0-spine0, from: leaf0}]\n"),
              "s.yaml:5: from: it has no effect without loss or error_rate");
    EXPECT_EQ(override_answer("  cables: [{match: leaf0-spine0, loss: 1e-3, from: h0}]\n"),
              "s.yaml:5: from: 'h0' is no end of the cable leaf0-spine0");
    EXPECT_EQ(override_answer("  cables: [{match: leaf0-leaf1, loss: 1e-3}]\n"),
              "s.yaml:5: match: no cable is called 'leaf0-leaf1'");
}

TEST(overrides, settings_that_would_be_ignored_are_refused_with_their_line) {
    EXPECT_EQ(override_answer("  switch: {reduction_trees: 3}\n", "ib-ndr"),
              "s.yaml:5: fabric.switch.reduction_trees has no effect, because switch.reduction is "
              "no; change that, or remove this");
    EXPECT_EQ(
        override_answer("  qos: {trust: pcp}\n"),
        "s.yaml:5: fabric.qos.trust: 'pcp' is unknown here; write one of service_level, dscp");
}

TEST(overrides, patterns_have_stars_and_question_marks) {
    EXPECT_TRUE(matches("leaf*", "leaf12"));
    EXPECT_TRUE(matches("*", ""));
    EXPECT_TRUE(matches("l*f?-*1", "leaf0-spine11"));
    EXPECT_FALSE(matches("leaf?", "leaf12"));
    EXPECT_FALSE(matches("leaf", "leaf1"));
    EXPECT_FALSE(matches("", "leaf1"));
}

}  // namespace
}  // namespace tulle::scenario
