// Files of NCCL and of nccl-tests.
#include <gtest/gtest.h>

#include "scenario/files_test.h"
#include "scenario/measured.h"
#include "scenario/nccl_topology.h"
#include "scenario/scenario.h"

namespace tulle::scenario {
namespace {

const std::string kFolder = TULLE_SOURCE_DIR "/examples/traces/";

std::string server_complaint(const std::string& text) {
    const auto server = read_nccl_topology(text, "t.xml");
    return server ? "" : server.error().message;
}

std::string measured_complaint(const std::string& text) {
    const auto measured = read_measured(text, "m.txt");
    return measured ? "" : measured.error().message;
}

TEST(nccl_topology, a_server_has_gpus_ports_and_links) {
    const auto text = read_source_file(kFolder + "server.xml");
    const auto server = read_nccl_topology(*text, "t.xml");
    ASSERT_TRUE(server.ok()) << server.error().message;
    EXPECT_EQ(server->gpus, 4u);
    EXPECT_EQ(server->adapters, 4u);
    EXPECT_EQ(server->nvlink_mbps(), 18u * 20'600u);
    EXPECT_EQ(server->pcie_mbps, 48'000u);  // 16 lanes x 240 / 80
}

TEST(nccl_topology, it_becomes_the_server_of_a_cluster) {
    const FileReader files = [](const std::string&) -> base::Result<std::string> {
        return std::string(
            "<system><cpu><pci link_speed='16 GT/s' link_width='16'><gpu dev='0' sm='80'/></pci>"
            "<pci link_speed='8 GT/s' link_width='8'><gpu dev='1' sm='80'/></pci>"
            "<nic><net speed='100000'/></nic></cpu></system>");
    };
    const auto setup = read_scenario(
        "topology: star:4\ngpus: {server: t.xml}\nwork: [{all_reduce: {bytes: 1MiB}}]\n", "s.yaml",
        files);
    ASSERT_TRUE(setup.ok()) << setup.error().message;
    EXPECT_EQ(setup->ranks.size(), 8u);  // two GPUs at each adapter
    ASSERT_TRUE(setup->scale_up);
    EXPECT_EQ(setup->scale_up->graph.switch_count(), 4u);
    // The slower slot: 8 lanes x 60 / 80 = 6 GB/s.
    EXPECT_EQ(setup->scale_up->fabric.link.rate, base::Rate::bits_per_second(48'000'000'000));
}

// Reads a scenario with this server.
std::string cluster_complaint(const std::string& server, const std::string& more = "") {
    const FileReader files = [&](const std::string&) -> base::Result<std::string> {
        return server;
    };
    const auto setup = read_scenario("topology: star:4\ngpus: {server: t.xml" + more +
                                         "}\nwork: [{all_reduce: {bytes: 1MiB}}]\n",
                                     "s.yaml", files);
    return setup ? "" : setup.error().message;
}

// Two GPUs and an adapter as Azure and AWS give them to NCCL.
TEST(nccl_topology, an_outline_has_the_classes_of_devices_only) {
    const std::string outline =
        "<system version='1'><cpu numaid='0'><pci busid='ffff:ff:01.0' class='0x060400'>"
        "<pci busid='0001:00:00.0' class='0x030200'/><pci busid='0002:00:00.0' class='0x030200'/>"
        "<pci busid='0101:00:00.0' class='0x020700'/></pci></cpu></system>";
    const auto server = read_nccl_topology(outline, "t.xml");
    ASSERT_TRUE(server.ok()) << server.error().message;
    EXPECT_TRUE(server->is_outline);
    EXPECT_EQ(server->gpus, 2u);
    EXPECT_EQ(server->adapters, 1u);
    EXPECT_NE(cluster_complaint(outline).find("names PCI devices only"), std::string::npos);
    EXPECT_EQ(cluster_complaint(outline, ", scale_up: nvlink4"), "");
}

TEST(nccl_topology, links_between_some_gpus_are_no_network) {
    const auto gpu = [](int number, const std::string& target, const std::string& kind) {
        return "<pci link_speed='' link_width='0'><gpu dev='" + std::to_string(number) +
               "' sm='80'><nvlink target='" + target + "' count='12' tclass='" + kind +
               "'/></gpu></pci>";
    };
    const auto four = [&](const std::string& kind) {
        std::string text = "<system><cpu><nic><net speed='100000'/></nic>";
        for (int i = 0; i < 4; ++i) text += gpu(i, std::to_string(i ^ 1), kind);
        return text + "</cpu></system>";
    };
    EXPECT_NE(cluster_complaint(four("0x030200")).find("from a GPU to 1 of 3 others"),
              std::string::npos);
    EXPECT_EQ(cluster_complaint(four("0x030200"), ", scale_up: pcie5"), "");
    EXPECT_EQ(cluster_complaint(four("0x068000")), "");
}

// A server of `gpus` GPUs and `ports` network ports without NVLink.
std::string server_of(int gpus, int ports) {
    std::string text = "<system><cpu>";
    for (int i = 0; i < gpus; ++i) text += "<pci><gpu dev='" + std::to_string(i) + "'/></pci>";
    for (int i = 0; i < ports; ++i) text += "<nic><net speed='100000'/></nic>";
    return text + "</cpu></system>";
}

TEST(nccl_topology, one_port_stands_for_all_of_a_gpu) {
    const FileReader files = [&](const std::string&) -> base::Result<std::string> {
        return server_of(2, 8);
    };
    const auto setup = read_scenario(
        "topology: star:4\ngpus: {server: t.xml}\nwork: [{all_reduce: {bytes: 1MiB}}]\n", "s.yaml",
        files);
    ASSERT_TRUE(setup.ok()) << setup.error().message;
    EXPECT_EQ(setup->ranks.size(), 4u);  // one at each adapter
    EXPECT_NE(cluster_complaint(server_of(2, 3)).find("2 GPUs and 3 network ports"),
              std::string::npos);
}

TEST(nccl_topology, what_is_wrong_is_one_sentence_with_its_line) {
    EXPECT_EQ(server_complaint("<system>\n<cpu>\n</system>"),
              "t.xml:3: </system> closes what is not open; <cpu> is");
    EXPECT_EQ(server_complaint("<system>\n<gpu dev=0/></system>"),
              "t.xml:2: the value of an attribute lacks its quotes");
    EXPECT_EQ(server_complaint("<system><gpu/>"),
              "t.xml:1: <system> is never closed; is it all of the file?");
    EXPECT_EQ(server_complaint("<system>\n<gpu dev='0'>\n<nvlink count='-3'/></gpu></system>"),
              "t.xml:3: count of <nvlink> is '-3'; write the number of links, 1 to 1000");
    EXPECT_EQ(server_complaint("<system>\n<gpu dev='0'/>\n<gpu dev='0'/></system>"),
              "t.xml:3: there are two <gpu> with dev '0'");
    EXPECT_EQ(server_complaint("nothing"),
              "t.xml:1: there is no <system>; write the file with NCCL_TOPO_DUMP_FILE");
    EXPECT_EQ(server_complaint("<system><cpu><pci busid='0000:00:16.0'/></cpu></system>"),
              "t.xml:1: it names 1 PCI devices but not what they are, which NCCL asks the machine; "
              "take a file that NCCL wrote (NCCL_TOPO_DUMP_FILE), or leave out server and write "
              "per_server, per_nic and scale_up");
    EXPECT_EQ(server_complaint("\n<graphs><graph/></graphs>"),
              "t.xml:2: these are rings and trees for NCCL_GRAPH_FILE; give the file for "
              "NCCL_TOPO_FILE");
    EXPECT_EQ(server_complaint("<system><gpu/></system>"),
              "t.xml:1: there is no <net> in the file, so the server has no adapter; dump it on a "
              "server that has one");
}

TEST(measured, a_table_of_nccl_tests_is_read_in_its_units) {
    const auto text = read_source_file(TULLE_SOURCE_DIR "/tests/cli/measured.txt");
    const auto measured = read_measured(*text, "m.txt");
    ASSERT_TRUE(measured.ok()) << measured.error().message;
    EXPECT_EQ(measured->collective, "all_reduce");
    ASSERT_EQ(measured->rows.size(), 3u);
    EXPECT_EQ(measured->rows[1].bytes, 8'388'608u);
    EXPECT_EQ(measured->rows[1].time, base::Duration{160'000'000});
    EXPECT_EQ(measured->rows[1].bus_bandwidth, 91'750'000'000u);
}

TEST(measured, json_of_nccl_tests_is_read_too) {
    const auto measured = read_measured(
        R"({"version": 3, "results": [{"size": 1024, "count": 256,
            "out_of_place": {"time": 10.5, "alg_bw": 1, "bus_bw": 1.75, "nwrong": 0}}]})",
        "m.json");
    ASSERT_TRUE(measured.ok()) << measured.error().message;
    EXPECT_EQ(measured->rows[0].time, base::Duration{10'500'000});
    EXPECT_EQ(measured->rows[0].bus_bandwidth, 1'750'000'000u);
}

TEST(measured, what_is_wrong_is_one_sentence_with_its_line) {
    EXPECT_EQ(measured_complaint("# head\n1024 256 float sum -1 fast 1 1 0\n"),
              "m.txt:2: it is no row of nccl-tests: size, count, type, redop, root, time in us, "
              "algbw and busbw in GB/s");
    EXPECT_EQ(measured_complaint("# head\n"),
              "m.txt:1: there is no row of nccl-tests in it; give the output of all_reduce_perf "
              "and the like");
    EXPECT_EQ(measured_complaint("{\"a\": 1}"),
              "m.txt:1: there is no list \"results\"; write it with -J of nccl-tests");
}

}  // namespace
}  // namespace tulle::scenario
