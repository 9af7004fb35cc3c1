#include "scenario/host_overrides.h"

#include <gtest/gtest.h>

#include "scenario/files_test.h"
#include "scenario/glob.h"
#include "scenario/set.h"

namespace tulle::scenario {
namespace {

using namespace base::literals;

static_assert(matches("h1*", "h1") && matches("h1*", "h17") && !matches("h1*", "h2"));
static_assert(matches("*-r?", "s10-r3") && !matches("*-r?", "s10-r13"));
static_assert(matches("", "") && matches("**", "x") && !matches("?", ""));

constexpr std::string_view kStar =
    "topology: star:4\n"
    "work: [{shift: {by: 1, bytes: 1MB}}]\n";

std::string with(std::string_view hosts) {
    return std::string(kStar) + "hosts:\n" + std::string(hosts);
}

TEST(host_overrides, change_the_hosts_that_they_match_and_no_others) {
    const auto setup = read_scenario(with("  send_latency: 1us\n"
                                          "  overrides:\n"
                                          "    - {match: h*, receive_latency: 2us}\n"
                                          "    - match: h1\n"
                                          "      send_latency: 9us\n"
                                          "      send_toll: {rate: 100Gbps}\n"
                                          "      memory: {latency: 3us}\n"
                                          "      rate: 200Gbps\n"),
                                     "s.yaml", files_in_memory({}));
    ASSERT_TRUE(setup.ok()) << setup.error().message;
    const auto endpoints = setup->graph.endpoints();
    const sim::HostSettings& slow = setup->host_of(endpoints[1]);
    const sim::HostSettings& other = setup->host_of(endpoints[2]);
    EXPECT_EQ(slow.send_latency, 9_us);
    EXPECT_EQ(slow.receive_latency, 2_us);
    EXPECT_EQ(slow.memory.latency, 3_us);
    EXPECT_EQ(slow.send_toll.rate, base::Rate::bits_per_second(100'000'000'000));
    EXPECT_EQ(slow.algorithms.dcqcn.line_rate_bps, 200'000'000'000u);
    EXPECT_EQ(other.send_latency, 1_us);
    EXPECT_EQ(other.receive_latency, 2_us);
    EXPECT_EQ(other.algorithms.dcqcn.line_rate_bps, 400'000'000'000u);
    for (const topology::Cable& cable : setup->graph.cables) {
        const bool is_its = cable.a.node == endpoints[1] || cable.b.node == endpoints[1];
        EXPECT_EQ(cable.rate_bps, is_its ? 200'000'000'000u : 0u);
    }
}

TEST(host_overrides, what_is_wrong_is_said_with_its_line) {
    EXPECT_EQ(answer(with("  overrides: [{match: x*, send_latency: 1us}]\n")),
              "s.yaml:4: hosts.overrides: no host is called 'x*'; the first is h0");
    EXPECT_EQ(answer(with("  overrides: [{send_latency: 1us}]\n")),
              "s.yaml:4: the entry of hosts.overrides has no match: write match: h0");
    EXPECT_EQ(answer(with("  overrides: [{match: h0}]\n")),
              "s.yaml:4: the entry of hosts.overrides changes nothing");
    EXPECT_EQ(answer(with("  overrides: [{match: h0, mtu: 1024}]\n")).substr(0, 27),
              "s.yaml:4: unknown key 'mtu'");
    EXPECT_EQ(answer(with("  overrides: [{match: h0, rate: fast}]\n")).substr(0, 31),
              "s.yaml:4: hosts.overrides: rate");
    EXPECT_NE(answer(with("  overrides: {match: h0}\n")), "read");
}

TEST(set_settings, changes_what_files_of_other_programs_say) {
    auto setup = *read_scenario(kStar, "s.yaml", files_in_memory({}));
    EXPECT_FALSE(set_settings(
        {{"fabric.ecn.kmin", "9KB"}, {"hosts.overrides", "[{match: h2, send_latency: 5us}]"}},
        setup));
    EXPECT_EQ(setup.fabric.ecn.kmin_bytes, 9'000u);
    EXPECT_EQ(setup.host_of(setup.graph.endpoints()[2]).send_latency, 5_us);
    EXPECT_EQ(set_settings({{"fabric.ecn.kmni", "9KB"}}, setup)->message.substr(0, 36),
              "command line: unknown key 'kmni' in ");
    EXPECT_EQ(set_settings({{"fabric.credits.update", "9KB"}}, setup)->message,
              "command line: fabric.credits.update has no effect, because flow_control is not "
              "credits; change that, or remove this");
    EXPECT_EQ(set_settings({{"hosts.mtu", "1024"}, {"hosts.mtu", "2048"}}, setup)->message,
              "command line: hosts.mtu: it is given twice");
    EXPECT_EQ(set_settings({{"work.0.bytes", "1"}}, setup)->message,
              "command line: work.0.bytes: files of other programs have settings of fabric and "
              "hosts alone; write one of those");
}

}  // namespace
}  // namespace tulle::scenario
