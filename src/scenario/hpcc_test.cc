#include "scenario/hpcc.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/time.h"
#include "scenario/files_test.h"

namespace tulle::scenario {
namespace {

using namespace base::literals;

const std::string kPeers = TULLE_SOURCE_DIR "/tests/peers/";

base::Result<HpccRun> read_peer(const std::string& name, const std::string& paths = "") {
    const auto config = read_source_file(kPeers + name);
    return read_hpcc(*config, kPeers + name, read_source_file, paths);
}

// A configuration that is right, and one more line, or several of which the first may replace one.
std::string with(std::string_view line) {
    const FileReader files =
        files_in_memory({{"t.txt", "3 1 2\n2\n0 2 100Gbps 0.001ms 0\n1 2 100Gbps 0.001ms 0\n"},
                         {"fast.txt", "3 1 2\n2\n0 2 100Gbps 0.001ms 0\n1 2 400Gbps 0.001ms 0\n"},
                         {"mixed.txt",
                          "4 2 3\n2 3\n0 2 100Gbps 0.001ms 0\n1 3 100Gbps 0.001ms 0\n"
                          "2 3 400Gbps 0.001ms 0\n"},
                         {"f.txt", "1\n0 1 3 100 5000 2\n"},
                         {"g.txt", "1\n0 2 3 100 5000 2\n"}});
    std::string text(line);
    text += "\n";
    for (const std::string_view key :
         {"TOPOLOGY_FILE t.txt", "FLOW_FILE f.txt", "HAS_WIN 0", "KMAX_MAP 1 100000000000 1600",
          "KMIN_MAP 1 100000000000 400", "PMAX_MAP 1 100000000000 0.2"})
        if (key.substr(0, key.find(' ')) != line.substr(0, line.find(' ')))
            text.append(key).append("\n");
    const auto run = read_hpcc(text, "c.txt", files);
    return run ? "read" : run.error().message;
}

TEST(hpcc, the_incast_of_the_peer_is_understood) {
    const auto run = read_peer("config_incast16_100g_dcqcn_paper.txt");
    ASSERT_TRUE(run.ok()) << run.error().message;
    const sim::Setup& setup = run->setup;
    EXPECT_EQ(setup.graph.host_count(), 17u);
    ASSERT_EQ(setup.flows.size(), 16u);
    EXPECT_EQ(setup.flows[0].source, 1u);
    EXPECT_EQ(setup.flows[0].destination, 0u);
    EXPECT_EQ(setup.flows[0].start, base::Instant{} + 2_s);
    EXPECT_EQ(setup.flows[0].port, 10'000u);
    EXPECT_EQ(setup.flows[0].service_level, 3u);
    EXPECT_EQ(setup.stop, base::Instant{} + 2200_ms);
    EXPECT_EQ(setup.fabric.ecn.kmin_bytes, 400'000u);
    EXPECT_EQ(setup.fabric.ecn.kmax_bytes, 1'600'000u);
    EXPECT_EQ(setup.fabric.ecn.pmax_millionths, 200'000u);
    EXPECT_EQ(setup.fabric.node.buffer_bytes, 32u << 20);
    EXPECT_EQ(setup.host.mtu, 1'000u);
    const transport::DcqcnSettings& dcqcn = setup.host.algorithms.dcqcn;
    EXPECT_EQ(dcqcn.alpha_interval, 50_us);
    EXPECT_EQ(dcqcn.increase_interval, 55_us);
    EXPECT_EQ(dcqcn.gain, transport::kGainOne / 256);
    EXPECT_EQ(dcqcn.hyper_bps, 200'000'000u);
    EXPECT_EQ(dcqcn.line_rate_bps, 100'000'000'000u);
    EXPECT_EQ(run->fct_file, "fct_incast16_100g_dcqcn_paper.txt");
    EXPECT_NE(std::find(run->notes.begin(), run->notes.end(),
                        "U_TARGET has no effect here: it is of HPCC's own congestion control "
                        "(CC_MODE 3 or 10)"),
              run->notes.end());
}

TEST(hpcc, the_permutation_of_the_peer_takes_the_paths_that_were_recorded) {
    const auto run = read_peer("config_ft8perm_100g_dcqcn_paper.txt", kPeers + "paths_ft8perm.txt");
    ASSERT_TRUE(run.ok()) << run.error().message;
    const sim::Setup& setup = run->setup;
    ASSERT_EQ(setup.flows.size(), 128u);
    const topology::Ports ports(setup.graph);
    for (const sim::Flow& flow : setup.flows) {
        ASSERT_GE(flow.path, 0);
        const std::vector<uint32_t>& data = setup.paths[static_cast<size_t>(flow.path)].data;
        EXPECT_EQ(data.front(), setup.graph.endpoints()[flow.source]);
        EXPECT_EQ(data.back(), setup.graph.endpoints()[flow.destination]);
        for (size_t i = 0; i + 1 < data.size(); ++i) {
            const auto links = ports.of(data[i]);
            EXPECT_TRUE(std::any_of(links.begin(), links.end(),
                                    [&](const auto& link) {
                                        return link.is_cabled() && link.peer.node == data[i + 1];
                                    }))
                << "no cable from " << data[i] << " to " << data[i + 1];
        }
    }
}

TEST(hpcc, hpcc_itself_has_its_window_and_the_longest_round_trip) {
    const auto run = read_peer("config_ft8perm_100g_hpcc.txt");
    ASSERT_TRUE(run.ok()) << run.error().message;
    const sim::Setup& setup = run->setup;
    EXPECT_EQ(setup.host.congestion, transport::Algorithm::hpcc);
    EXPECT_TRUE(setup.fabric.telemetry);
    const transport::HpccSettings& hpcc = setup.host.algorithms.hpcc;
    EXPECT_EQ(hpcc.base_rtt.ps, 12'480'000);  // maxRtt, as that program prints it
    EXPECT_EQ(hpcc.window_of(hpcc.line_rate_bps) / 256, 156'000u);  // maxBdp
    EXPECT_EQ(hpcc.additive_bytes, 62u);                            // 40 Mb/s in 12.48 us
    EXPECT_EQ(hpcc.max_stage, 0u);
    EXPECT_EQ(hpcc.min_rate_bps, 1'000'000'000u);
    EXPECT_EQ(setup.fabric.framing.fixed_header_bytes + 42, hpcc.uncounted_bytes);
    for (const std::string& note : run->notes) EXPECT_EQ(note.find("U_TARGET"), std::string::npos);
}

TEST(hpcc, what_hpcc_cannot_do_here_is_refused) {
    const std::string own = "HAS_WIN 1\nCC_MODE 3\n";
    EXPECT_EQ(with(own + "VAR_WIN 1\nMULTI_RATE 0"), "read");
    EXPECT_EQ(with("HAS_WIN 0\nCC_MODE 3"), "c.txt:1: HAS_WIN: HPCC has a window; write HAS_WIN 1");
    EXPECT_EQ(with(own + "VAR_WIN 0\nMULTI_RATE 0"),
              "c.txt:3: VAR_WIN: HPCC's window follows its rate; write VAR_WIN 1");
    EXPECT_EQ(with(own + "VAR_WIN 1\nMULTI_RATE 1"),
              "c.txt:4: MULTI_RATE: a flow has one rate, not one a hop; write MULTI_RATE 0");
    EXPECT_EQ(with(own + "VAR_WIN 1\nMULTI_RATE 0\nGLOBAL_T 0"),
              "c.txt:5: GLOBAL_T: all flows have the longest round trip; write GLOBAL_T 1");
    EXPECT_EQ(with(own + "VAR_WIN 1\nMULTI_RATE 0\nSAMPLE_FEEDBACK 1"),
              "c.txt:5: SAMPLE_FEEDBACK: hops without a queue count too; write SAMPLE_FEEDBACK 0");
}

TEST(hpcc, all_configurations_of_the_peer_are_read) {
    EXPECT_TRUE(read_peer("config_single_100g.txt").ok());
}

TEST(hpcc, what_is_wrong_is_said_with_file_and_line) {
    EXPECT_EQ(with(""), "read");
    EXPECT_EQ(with("RATE_A1 5Mb/s"),
              "c.txt:1: unknown key 'RATE_A1' in an HPCC configuration; did you mean 'RATE_AI'?");
    EXPECT_EQ(with("RATE_AI"), "c.txt:1: RATE_AI has no value");
    EXPECT_EQ(with("RATE_AI 5Mb/s\nRATE_AI 5Mb/s"), "c.txt:2: RATE_AI is written twice");
    EXPECT_EQ(with("RP_TIMER soon"),
              "c.txt:1: RP_TIMER: 'soonus' is no number of at most 18 digits with a unit; write a "
              "duration such as 1.5us");
    EXPECT_EQ(with("EWMA_GAIN 2"),
              "c.txt:1: EWMA_GAIN: '2' is no number from 0 to 1; write one such as 0.2, "
              "1e-12 or 1/8");
    EXPECT_EQ(with("TOPOLOGY_FILE none.txt"), "c.txt:1: TOPOLOGY_FILE: cannot open none.txt");
    EXPECT_EQ(with("FLOW_FILE g.txt").substr(0, 21), "c.txt:1: FLOW_FILE: '");
    EXPECT_EQ(with("KMIN_MAP 1 25000000000 100"),
              "c.txt:1: KMIN_MAP: it has no value for 100000000000, a rate of the links");
    EXPECT_EQ(with("KMIN_MAP 2 25000000000 100"),
              "c.txt:1: KMIN_MAP: write how many pairs follow, then the pairs of a rate and a "
              "value");
    EXPECT_EQ(with("KMIN_MAP 1 100000000000 2000"), "c.txt:1: KMIN_MAP: kmin is above kmax");
    EXPECT_EQ(with("LINK_DOWN 100 0 1"), "c.txt:1: LINK_DOWN: there is no link between 0 and 1");
    EXPECT_EQ(with("LINK_DOWN 100 0 2"), "read");
}

TEST(hpcc, what_cannot_be_honoured_is_refused_with_what_to_write) {
    EXPECT_EQ(with("CC_MODE 8"),
              "c.txt:1: CC_MODE: mode 8 is not supported; 1 is DCQCN, 3 is HPCC, 7 is TIMELY");
    EXPECT_EQ(with("CC_MODE 7"), "read");
    EXPECT_EQ(with("HAS_WIN 1"),
              "c.txt:1: HAS_WIN: windows are not supported; write HAS_WIN "
              "0");
    EXPECT_EQ(with("PACKET_PAYLOAD_SIZE 1001"),
              "c.txt:1: PACKET_PAYLOAD_SIZE: it is a multiple of 4 from 256 to 10240");
    EXPECT_EQ(with("L2_BACK_TO_ZERO 1"),
              "c.txt:1: L2_BACK_TO_ZERO: hosts go back to the packet that was lost; write 0");
    EXPECT_EQ(with("TOPOLOGY_FILE fast.txt"),
              "c.txt:1: TOPOLOGY_FILE: its hosts have links of different rates; give all of them "
              "one rate");
    EXPECT_EQ(with("TOPOLOGY_FILE mixed.txt"),
              "c.txt:5: KMIN_MAP: it has no value for 400000000000, a rate of the links");
}

}  // namespace
}  // namespace tulle::scenario
