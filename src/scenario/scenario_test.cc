#include "scenario/scenario.h"

#include <gtest/gtest.h>

#include "base/time.h"
#include "scenario/files_test.h"

namespace tulle::scenario {
namespace {

using namespace base::literals;

sim::Setup read(std::string_view text, const FileReader& files = files_in_memory({}),
                const Overrides& overrides = {}) {
    auto setup = read_scenario(text, "dir/s.yaml", files, overrides);
    EXPECT_TRUE(setup.ok()) << setup.error().message;
    return setup ? *setup : sim::Setup{};
}

constexpr std::string_view kSmall =
    "topology: star:4\n"
    "work: [{shift: {by: 1, bytes: 1KB}}]\n";

TEST(scenario, a_small_one_has_all_that_a_run_needs) {
    const sim::Setup setup = read(kSmall);
    EXPECT_EQ(setup.graph.host_count(), 4u);
    EXPECT_EQ(setup.flows.size(), 4u);
    EXPECT_EQ(setup.flows[1].destination, 2u);
    EXPECT_EQ(setup.flows[1].bytes, 1'000u);
    EXPECT_EQ(setup.fabric_name, "RoCE v2 400G");
    EXPECT_EQ(setup.seed, 1u);
    EXPECT_EQ(setup.stop, base::Instant::never());
    EXPECT_EQ(setup.groups, std::vector<std::string>{"shift"});
    EXPECT_EQ(setup.host.algorithms.dcqcn.line_rate_bps, 400'000'000'000u);
}

TEST(scenario, a_full_one_fills_every_part_of_the_setup) {
    const sim::Setup setup = read(
        "name: everything\n"
        "seed: 7\n"
        "topology: leaf-spine:leaves=2,spines=2,hosts=2\n"
        "profile: roce-v2-100g\n"
        "fabric: {ecn: {kmin: 10KB}}\n"
        "hosts: {mtu: 1024}\n"
        "work:\n"
        "  - {incast: {to: h0, from: [1-2, h3], bytes: 1MB}, start: 2us, level: 4, name: noise}\n"
        "  - flows: [{from: 0, to: 3, bytes: 64, start: 1us}]\n"
        "    start: 1us\n"
        "    operation: send\n"
        "faults:\n"
        "  - {at: 20us, cable: leaf0-spine1, state: up}\n"
        "  - {at: 10us, cable: spine1-leaf0, state: down}\n"
        "  - {at: 30us, switch: spine0, state: down}\n"
        "  - {at: 40us, host: 2, slow_receiver: 10Gbps}\n"
        "  - {at: 50us, host: h1, pause_storm: on}\n"
        "qos: [{node: leaf1, pfc_priorities: [4], willing: yes}]\n"
        "capture: [h0-leaf0]\n"
        "trace: yes\n"
        "stop: 1ms\n");
    EXPECT_EQ(setup.name, "everything");
    EXPECT_EQ(setup.seed, 7u);
    EXPECT_EQ(setup.fabric.ecn.kmin_bytes, 10'000u);
    EXPECT_EQ(setup.host.mtu, 1'024u);
    ASSERT_EQ(setup.flows.size(), 4u);
    EXPECT_EQ(setup.flows[2].source, 3u);
    EXPECT_EQ(setup.flows[2].start, base::Instant{} + 2_us);
    EXPECT_EQ(setup.flows[2].service_level, 4u);
    EXPECT_EQ(setup.groups, (std::vector<std::string>{"noise", "flows"}));
    EXPECT_EQ(setup.flows[3].group, 1u);
    EXPECT_EQ(setup.flows[3].start, base::Instant{} + 2_us);
    EXPECT_EQ(setup.flows[3].operation, sim::Verb::send);
    EXPECT_EQ(setup.flows[3].service_level, 3u) << "the first that is lossless";
    EXPECT_EQ(setup.flows[3].traffic_class & 3, 2) << "understands marks";
    ASSERT_EQ(setup.faults.size(), 5u);
    EXPECT_EQ(setup.faults[0].kind, sim::Fault::Kind::cable_down) << "in the order of time";
    EXPECT_EQ(setup.faults[0].subject, setup.faults[1].subject);
    EXPECT_EQ(setup.graph.nodes[setup.faults[2].subject].name, "spine0");
    EXPECT_EQ(setup.faults[3].kind, sim::Fault::Kind::slow_receiver);
    EXPECT_EQ(setup.graph.nodes[setup.faults[4].subject].name, "h1");
    ASSERT_EQ(setup.qos.size(), 1u);
    EXPECT_EQ(setup.qos[0].pfc_priorities, 1u << 4);
    EXPECT_TRUE(setup.qos[0].willing);
    ASSERT_EQ(setup.taps.size(), 1u);
    EXPECT_TRUE(setup.trace);
    EXPECT_EQ(setup.stop, base::Instant{} + 1_ms);
}

TEST(scenario, one_that_is_like_another_changes_only_what_it_names) {
    const FileReader files = files_in_memory({{"dir/base.yaml",
                                               "topology: star:4\n"
                                               "profile: ib-ndr\n"
                                               "seed: 5\n"
                                               "fabric: {credits: {lane_buffer: 32KiB}}\n"
                                               "work: [{shift: {by: 1, bytes: 1KB}}]\n"}});
    const sim::Setup setup = read("like: base.yaml\nfabric: {switch: {latency: 5ns}}\n", files);
    EXPECT_EQ(setup.seed, 5u);
    EXPECT_EQ(setup.fabric.credits.lane_buffer_bytes, 32u << 10);
    EXPECT_EQ(setup.fabric.node.latency, 5_ns);
    EXPECT_EQ(setup.flows.size(), 4u);
    // What it makes useless below was right in its place.
    const sim::Setup other = read("like: base.yaml\nprofile: roce-v2-100g\n", files);
    EXPECT_EQ(other.fabric.flow_control, fabric::FlowControl::pfc);
}

TEST(scenario, a_command_line_comes_last) {
    Overrides overrides;
    overrides.profile = "ib-hdr";
    overrides.topology = "star:8";
    overrides.seed = 9;
    overrides.set = {{"fabric.credits.update", "2KiB"}, {"hosts.mtu", "2048"}};
    const sim::Setup setup = read(kSmall, files_in_memory({}), overrides);
    EXPECT_EQ(setup.fabric_name, "InfiniBand HDR");
    EXPECT_EQ(setup.graph.host_count(), 8u);
    EXPECT_EQ(setup.seed, 9u);
    EXPECT_EQ(setup.fabric.credits.update_bytes, 2'048u);
    EXPECT_EQ(setup.host.mtu, 2'048u);
    overrides.set = {{"fabric.pfc.xof", "1"}};
    EXPECT_EQ(answer(kSmall, files_in_memory({}), overrides),
              "command line: unknown key 'xof' in fabric.pfc; did you mean 'xoff'?");
    overrides.set = {{"fabric..", "1"}};
    EXPECT_NE(answer(kSmall, files_in_memory({}), overrides), "read");
}

TEST(scenario, a_topology_may_stand_in_a_file_or_in_place) {
    const FileReader files =
        files_in_memory({{"dir/t.txt", "3 1 2\n2\n0 2 100Gbps 0.001ms 0\n1 2 100Gbps 0.001ms 0\n"},
                         {"dir/f.txt", "1\n0 1 3 100 5000 2\n"}});
    const sim::Setup file =
        read("topology: {file: t.txt, format: hpcc}\nwork: [{hpcc_flows: f.txt}]\n", files);
    EXPECT_EQ(file.graph.host_count(), 2u);
    EXPECT_EQ(file.flows[0].priority_group, 3u);
    EXPECT_EQ(file.host.algorithms.dcqcn.line_rate_bps, 100'000'000'000u) << "of the cables";
    const sim::Setup place = read(
        "topology:\n"
        "  hosts: [a, b]\n"
        "  switches: [s]\n"
        "  cables: [[a, s], [b, s]]\n"
        "work: [{flows: [{from: a, to: b, bytes: 1}]}]\n");
    EXPECT_EQ(place.graph.nodes[0].name, "a");
    EXPECT_EQ(place.flows.size(), 1u);
}

TEST(scenario, a_wrong_topology_in_place_is_answered_with_its_own_line) {
    const std::string message = answer(
        "work: []\n"
        "topology:\n"
        "  hosts: [a, b]\n"
        "  switches: [s]\n"
        "  cables:\n"
        "    - [a, s]\n"
        "    - [c, s]\n");
    EXPECT_EQ(message.substr(0, 9), "s.yaml:7:") << message;
}

TEST(scenario, random_draws_depend_on_the_seed_and_on_the_place_in_the_list) {
    const auto sources = [](std::string_view seed) {
        const sim::Setup setup = read("topology: star:64\nseed: " + std::string(seed) +
                                      "\nwork: [{incast: {to: 0, senders: 8, bytes: 1}},"
                                      " {incast: {to: 0, senders: 8, bytes: 1}}]\n");
        std::vector<uint32_t> all;
        for (const sim::Flow& flow : setup.flows) all.push_back(flow.source);
        return all;
    };
    const auto one = sources("1");
    ASSERT_EQ(one.size(), 16u);
    EXPECT_EQ(one, sources("1"));
    EXPECT_NE(one, sources("2"));
    EXPECT_NE(std::vector(one.begin(), one.begin() + 8), std::vector(one.begin() + 8, one.end()));
}

TEST(scenario, where_switches_trust_the_dscp_it_decides_on_the_lane_of_hosts_too) {
    const std::string text =
        "topology: star:4\nfabric: {qos: {trust: dscp, lane_of_dscp: {26: 3, 10: 1}}}\n";
    const sim::Setup lossless = read(text + "work: [{shift: {by: 1, bytes: 1}}]");
    EXPECT_EQ(lossless.flows[0].traffic_class >> 2, 26);
    EXPECT_EQ(lossless.flows[0].service_level, 3u);
    const sim::Setup lossy = read(text + "work: [{shift: {by: 1, bytes: 1}, dscp: 10}]");
    EXPECT_EQ(lossy.flows[0].service_level, 1u);
    EXPECT_EQ(answer(text + "work: [{shift: {by: 1, bytes: 1}, level: 1}]"),
              "s.yaml:3: level has no effect, because qos.trust is dscp; write dscp");
}

TEST(scenario, what_is_wrong_at_the_top_is_said_with_file_and_line) {
    EXPECT_EQ(answer(""), "s.yaml:1: the topology is missing; write topology: fat-tree:k=4");
    EXPECT_EQ(answer("topology: star:4"),
              "s.yaml:1: the work is missing; write work: [{permutation: {bytes: 1MB}}]");
    EXPECT_EQ(answer("topology: star:4\nwork: []"), "s.yaml:2: no work is given");
    EXPECT_EQ(answer("topolgy: star:4"),
              "s.yaml:1: unknown key 'topolgy' in a scenario; did you mean 'topology'?");
    EXPECT_EQ(answer("[a]").substr(0, 45), "s.yaml:1: a scenario is a list; write a map w");
    EXPECT_EQ(answer("\nseed: -1\n"),
              "s.yaml:2: seed: '-1' is no whole number from 0 to 18446744073709551615");
    EXPECT_EQ(answer("\nstop: 0us\n"), "s.yaml:2: stop: it cannot be zero");
    EXPECT_EQ(answer("profile: roce-v2-40g\n"),
              "s.yaml:1: there is no profile 'roce-v2-40g'; did you mean 'roce-v2-400g'?");
    EXPECT_EQ(answer("profile: ./mine.yaml\n"), "s.yaml:1: cannot open ./mine.yaml");
    EXPECT_EQ(answer("like: other.yaml\n"), "s.yaml:1: cannot open other.yaml");
    EXPECT_EQ(answer("like: s.yaml\n", files_in_memory({{"s.yaml", "like: s.yaml"}})),
              "s.yaml:1: scenarios are like one another in a circle, or too deep");
    EXPECT_EQ(answer("topology: star:0\n").substr(0, 9), "s.yaml:1:");
    EXPECT_EQ(answer("topology: {file: t}\n"), "s.yaml:1: cannot open t");
    EXPECT_EQ(answer("topology: {format: hpcc}\n"), "s.yaml:1: format has no effect without file");
    EXPECT_EQ(
        answer("topology: star:4\nfabric: {marking: none, ecn: {kmin: 1KB}}\n"),
        "s.yaml:2: fabric.ecn.kmin has no effect, because marking is not ecn; change that, or "
        "remove this");
    EXPECT_EQ(answer("topology: {hosts: [a, b], switches: [s], cables: [{between: [a, s], rate: "
                     "100Mbps}, {between: [b, s], rate: 100Mbps}]}\n"
                     "hosts: {congestion: {dcqcn: {min_rate: 1Gbps}}}\n"
                     "work: [{shift: {by: 1, bytes: 1}}]\n"),
              "s.yaml:1: dcqcn.min_rate is above the rate of the hosts' links");
    // A job's exchanges are simulated while it is read.
    EXPECT_EQ(answer("topology: rail:servers=2,rails=2\nprofile: roce-v2-400g\n"
                     "hosts: {congestion: {dcqcn: {min_rate: 500Gbps}}}\n"
                     "work: [{training: {model: {layers: 2, hidden: 128, heads: 2, vocabulary: 64, "
                     "sequence: 64}, micro_batches: 2}}]\n"),
              "s.yaml:1: dcqcn.min_rate is above the rate of the hosts' links");
}

TEST(scenario, what_does_not_go_together_is_said_where_it_was_written) {
    const std::string text =
        "topology: star:4\n"
        "profile: ib-ndr\n"
        "fabric:\n"
        "  credits:\n"
        "    lane_buffer: 2KiB\n"
        "work: [{shift: {by: 1, bytes: 1KB}}]\n";
    EXPECT_EQ(answer(text).substr(0, 40), "s.yaml:5: credits.lane_buffer is 2048B, ");
}

TEST(scenario, a_file_that_is_too_large_is_refused_by_its_size_alone) {
    EXPECT_EQ(check_file_size("big.yaml", 10'000'000'000, kMostTextBytes)->message,
              "big.yaml:1: the file has 9.313 GiB; at most 4 MiB are read");
    EXPECT_FALSE(check_file_size("flow.txt", kMostFileBytes).has_value());
    EXPECT_TRUE(check_file_size("flow.txt", kMostFileBytes + 1).has_value());
}

TEST(scenario, a_connection_matrix_runs_on_a_topology_and_a_profile) {
    const auto text = read_source_file(TULLE_SOURCE_DIR "/tests/peers/perm_128.cm");
    ASSERT_TRUE(text.ok());
    const auto setup = from_connection_matrix(*text, "perm_128.cm", "fat-tree:k=8",
                                              "peer-htsim-roce", files_in_memory({}));
    ASSERT_TRUE(setup.ok()) << setup.error().message;
    EXPECT_EQ(setup->flows.size(), 128u);
    EXPECT_EQ(setup->flows[0].source, 9u);
    EXPECT_EQ(setup->flows[0].destination, 44u);
    EXPECT_EQ(setup->fabric_name, "htsim RoCE");
    const auto small = from_connection_matrix(*text, "perm_128.cm", "fat-tree:k=4",
                                              "peer-htsim-roce", files_in_memory({}));
    ASSERT_FALSE(small.ok());
    EXPECT_EQ(small.error().message,
              "perm_128.cm:1: there are 128 nodes, but fat-tree:k=4 has 16 hosts");
}

}  // namespace
}  // namespace tulle::scenario
