#include "topology/format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "topology/builders.h"
#include "topology/spec.h"
#include "topology/text.h"

namespace tulle::topology {
namespace {

std::string file(const std::string& name) {
    std::ifstream stream(std::string(TULLE_SOURCE_DIR "/tests/peers/") + name);
    EXPECT_TRUE(stream) << name;
    return (std::stringstream() << stream.rdbuf()).str();
}

Graph made(const std::string& spec) {
    Graph graph = *build_spec(spec);
    for (Cable& cable : graph.cables) {
        cable.rate_bps = 100'000'000'000;
        cable.delay = {1'000'000};
    }
    return graph;
}

Graph read_as(Format format, std::string_view content) {
    auto graph = read(format, content, "file");
    EXPECT_TRUE(graph) << graph.error().message;
    return graph ? *graph : Graph{};
}

std::string problem(Format format, std::string_view content) {
    const auto graph = read(format, content, "file");
    return graph ? "" : graph.error().message;
}

// What every format keeps, independent of the order of nodes: one line per cable and host.
std::vector<std::string> essence(const Graph& graph) {
    std::vector<std::string> lines;
    for (const Cable& cable : graph.cables) {
        const auto end = [&](CableEnd e) { return text(graph.nodes[e.node].name, ":", e.port); };
        auto ends = std::pair(end(cable.a), end(cable.b));
        if (ends.second < ends.first) std::swap(ends.first, ends.second);
        lines.push_back(text(ends.first, " - ", ends.second, " ", cable.rate_bps));
    }
    std::sort(lines.begin(), lines.end());
    for (const uint32_t host : graph.endpoints()) lines.push_back(graph.nodes[host].name);
    return lines;
}

constexpr const char* kFabrics[] = {
    "fat-tree:k=4", "leaf-spine:leaves=3,spines=2,hosts=2,cables=2",
    "dragonfly",    "torus:3x3,hosts=2",
    "star:5",       "pair",
    "ring:4",       "dragonfly+:leaves=2,spines=2,hosts=1",
};

TEST(Yaml, writes_everything_and_reads_it_back) {
    for (const std::string spec : kFabrics) {
        Graph graph = made(spec);
        graph.cables[0].length_mm = 2500;
        graph.cables[0].loss_per_trillion = 17;
        graph.nodes[0].guid = 0xfedc'ba98'7654'3210;
        graph.nodes.back().port_count += 3;
        EXPECT_EQ(read_as(Format::yaml, *write(Format::yaml, graph)), graph) << spec;
    }
    const Graph rails = made("rail:servers=4,rails=2,group=2");
    EXPECT_EQ(read_as(Format::yaml, *write(Format::yaml, rails)), rails);
}

TEST(Yaml, names_may_hold_what_yaml_and_ports_use) {
    Graph graph = made("pair");
    graph.nodes[0].name = "MF0;a:MQM8700/U1 \"x\\y\" - [#]";
    graph.nodes[1].name = "b:7";
    EXPECT_EQ(read_as(Format::yaml, *write(Format::yaml, graph)), graph);
}

TEST(Yaml, a_person_writes_little) {
    const Graph graph = read_as(Format::yaml, R"(
hosts: [a, b, {name: c, server: 0, rail: 1}]
switches: [s, t]
cables:
  - [a, s]
  - [b, t:1]
  - {between: [c, t], rate: 25Gbps, delay: 500ns, length: 3m, loss: 1e-9}
  - [s:4, t]
)");
    EXPECT_EQ(graph.nodes[2].rail, 1u);
    EXPECT_EQ(graph.nodes[2].server, 0u);
    EXPECT_EQ(graph.nodes[3].tier, kLeafTier);
    EXPECT_EQ(graph.nodes[3].port_count, 4u);
    EXPECT_EQ(graph.cables[2].b, (CableEnd{4, 1}));
    EXPECT_EQ(graph.cables[2].rate_bps, 25'000'000'000u);
    EXPECT_EQ(graph.cables[2].delay, base::Duration{500'000});
    EXPECT_EQ(graph.cables[3].a, (CableEnd{3, 3}));
    EXPECT_EQ(graph.cables[3].b, (CableEnd{4, 2}));
}

TEST(Yaml, says_where_and_what_is_wrong) {
    const auto yaml = [](std::string_view content) { return problem(Format::yaml, content); };
    EXPECT_EQ(yaml(""), "file:1: a fabric is written as hosts:, switches: and cables:");
    EXPECT_EQ(yaml("hosts: [a]\nlinks: []"),
              "file:2: 'links' is not a key here; the keys are hosts, switches, cables");
    EXPECT_EQ(yaml("hosts:\n- a\n- a\n"), "file:3: two nodes are called a");
    EXPECT_EQ(yaml("hosts: [a, b]\ncables:\n- [a, c]"),
              "file:3: 'c' is neither a node of this file nor a port of one");
    EXPECT_EQ(yaml("hosts: [a, b]\ncables:\n- [a:1, b]\n- [a:1, b]"),
              "file:4: port 1 of a is used twice");
    EXPECT_EQ(yaml("hosts: [a, b]\ncables:\n- [a:0, b]"), "file:3: ports count from 1 to 65535");
    EXPECT_EQ(yaml("hosts: [a, b]\ncables:\n- [a]"),
              "file:3: a cable is [h0:1, leaf0:1], or {between: [h0:1, leaf0:1], rate: 100Gbps}");
    EXPECT_EQ(yaml("hosts:\n- {name: a, rail: many}"),
              "file:2: rail is a whole number from 0 to 65535, not 'many'");
    EXPECT_EQ(
        yaml("hosts: [a]\nswitches:\n- s\n- {name: t, tier: 2}"),
        "file:4: t has a tier, unlike the switches before it: give every switch one, or none");
    EXPECT_EQ(
        yaml("hosts: [a]\nswitches:\n- {name: t, tier: 2}\n- s"),
        "file:4: s has no tier, unlike the switches before it: give every switch one, or none");
    EXPECT_EQ(yaml("hosts: []"), "file: the fabric has no hosts");
    EXPECT_EQ(yaml("hosts: [a").find("file:1: "), 0u);
    EXPECT_EQ(yaml("hosts: [a, b, c]\ncables: [[a, b]]"), "file: host c has no cable");
}

TEST(Hpcc, the_fat_tree_of_that_simulator_is_ours) {
    const std::string content = file("topo_fattree_k8_100g.txt");
    EXPECT_EQ(guess_format(content), Format::hpcc);
    const Graph graph = read_as(Format::hpcc, content);
    EXPECT_EQ(graph, made("fat-tree:k=8"));
    EXPECT_EQ(*write(Format::hpcc, graph), content);
}

TEST(Hpcc, a_star_reads_and_writes_the_same) {
    const std::string content = file("topo_star17_100g.txt");
    const Graph graph = read_as(Format::hpcc, content);
    EXPECT_EQ(graph, made("star:17"));
    EXPECT_EQ(*write(Format::hpcc, graph), content);
}

TEST(Hpcc, keeps_every_fabric_but_its_names) {
    for (const std::string spec : kFabrics) {
        const Graph graph = made(spec);
        Graph back = read_as(Format::hpcc, *write(Format::hpcc, graph));
        ASSERT_EQ(back.nodes.size(), graph.nodes.size());
        for (size_t i = 0; i < graph.nodes.size(); ++i) back.nodes[i].name = graph.nodes[i].name;
        EXPECT_EQ(back, graph) << spec;
    }
}

TEST(Hpcc, says_where_and_what_is_wrong) {
    const auto hpcc = [](std::string_view content) { return problem(Format::hpcc, content); };
    EXPECT_EQ(hpcc(""), "file:1: the file ends before the number of nodes");
    EXPECT_EQ(hpcc("3 1 2\n2\n0 2 100Gbps 1us 0\n"),
              "file:1: the file ends early: 1 switches and 2 links were promised");
    EXPECT_EQ(hpcc("2 0 1\n0 0 100Gbps 1us 0\n"), "file:2: link 0 leads from node 0 to itself");
    EXPECT_EQ(hpcc("2 0 1\n0 2 100Gbps 1us 0\n"),
              "file:2: '2' is not the id of a node, a number below 2");
    EXPECT_EQ(hpcc("3 2 2\n2 2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0"),
              "file:2: switch 2 is listed twice");
    EXPECT_EQ(hpcc("2 0 1\n0 1 quick 1us 0\n").find("file:2: "), 0u);
    EXPECT_EQ(hpcc("2 0 1\n0 1 1Gbps 1us 2\n").find("file:2: '2' is no error rate"), 0u);
    EXPECT_EQ(hpcc("2 0 1\n0 1 1Gbps 1us 0\nmore"),
              "file:3: 'more' comes after the last of the 1 links that the first line promises");
    EXPECT_EQ(hpcc("16 8 1 2 24 A100\n").find("file:1: the first line has six words"), 0u);
    EXPECT_EQ(hpcc("9 0 1\n0 1 1Gbps 1us 0\n"), "file:1: 9 nodes with 1 links: some have no cable");
}

TEST(Hpcc, a_cable_without_a_rate_cannot_be_written) {
    EXPECT_NE(write(Format::hpcc, *build(Star{2})).error().message.find("--rate 100Gbps"),
              std::string::npos);
}

TEST(Ibnetdiscover, reads_a_real_fabric) {
    const std::string content = file("ibnetdiscover_two_leaves.txt");
    EXPECT_EQ(guess_format(content), Format::ibnetdiscover);
    const Graph graph = read_as(Format::ibnetdiscover, content);
    EXPECT_EQ(essence(graph),
              (std::vector<std::string>{
                  "Infiniscale-IV Mellanox Technologies S-0002c902004046a8:0 - node01 HCA-1:0 "
                  "32000000000",
                  "Infiniscale-IV Mellanox Technologies S-0002c902004046a8:1 - node01 HCA-2:0 "
                  "32000000000",
                  "Infiniscale-IV Mellanox Technologies S-0002c902004046a8:18 - "
                  "MF0;spine1:MQM8700/U1:30 40000000000",
                  "Infiniscale-IV Mellanox Technologies S-0002c902004046a8:19 - "
                  "MF0;spine1:MQM8700/U1:31 40000000000",
                  "Infiniscale-IV Mellanox Technologies S-0002c902004046b8:0 - node02 mlx5_0:1 "
                  "32000000000",
                  "Infiniscale-IV Mellanox Technologies S-0002c902004046b8:35 - "
                  "MF0;spine1:MQM8700/U1:0 54545454544",
                  "node01 HCA-1",
                  "node01 HCA-2",
                  "node02 mlx5_0",
              }));
    const auto hosts = graph.endpoints();
    EXPECT_EQ(graph.nodes[hosts[1]].rail, 1u);
    EXPECT_EQ(graph.nodes[hosts[1]].server, graph.nodes[hosts[0]].server);
    EXPECT_NE(graph.nodes[hosts[2]].server, graph.nodes[hosts[0]].server);
    EXPECT_EQ(graph.nodes[hosts[0]].guid, 0x2c903000e5a84u);
    EXPECT_EQ(graph.nodes[0].tier, kLeafTier);
    EXPECT_EQ(graph.nodes[2].tier, kSpineTier);
    EXPECT_EQ(graph.nodes[2].port_count, 41u);
}

TEST(Ibnetdiscover, reads_the_short_form_of_ibsim) {
    const std::string content = file("ibsim_two_paths.net");
    EXPECT_EQ(guess_format(content), Format::ibnetdiscover);
    EXPECT_EQ(essence(read_as(Format::ibnetdiscover, content)),
              (std::vector<std::string>{"Alpha:0 - Left:0 0", "Beta:0 - Left:1 0",
                                        "Gamma:0 - Right:0 0", "Left:6 - Right:6 0",
                                        "Left:7 - Right:7 0", "Alpha", "Beta", "Gamma"}));
}

TEST(Ibnetdiscover, what_it_writes_it_reads_back) {
    for (const std::string spec : kFabrics) {
        const Graph graph = made(spec);
        const std::string written = *write(Format::ibnetdiscover, graph);
        const Graph back = read_as(Format::ibnetdiscover, written);
        EXPECT_EQ(essence(back), essence(graph)) << spec;
        EXPECT_EQ(essence(read_as(Format::ibnetdiscover, *write(Format::ibnetdiscover, back))),
                  essence(graph));
    }
}

TEST(Ibnetdiscover, adapters_of_one_server_stay_together) {
    const Graph graph = made("rail:servers=3,rails=2");
    const Graph back = read_as(Format::ibnetdiscover, *write(Format::ibnetdiscover, graph));
    const auto hosts = back.endpoints();
    for (uint32_t i = 0; i < hosts.size(); ++i) {
        EXPECT_EQ(back.nodes[hosts[i]].server, i / 2);
        EXPECT_EQ(back.nodes[hosts[i]].rail, i % 2);
    }
}

TEST(Ibnetdiscover, says_where_and_what_is_wrong) {
    const auto ib = [](std::string_view content) {
        return problem(Format::ibnetdiscover, content);
    };
    EXPECT_EQ(ib("\f\v\r\n"), "file: the fabric has no hosts");
    EXPECT_EQ(ib("[1] \"A\"[1]"), "file:1: a port comes before the first node");
    EXPECT_EQ(ib("Hca 1 \"A\"\n[1] \"B\"[1]"), "file:2: node \"B\" is not described in the file");
    EXPECT_EQ(ib("Hca 1 \"A\"\n\nHca 1 \"A\""), "file:3: node \"A\" is described twice");
    EXPECT_EQ(ib("Hca 1 \"A\"\n[2] \"A\"[1]"), "file:2: port 2 of a node with 1 ports");
    EXPECT_EQ(ib("Hca 1 \"A\"\n[1] \"B\""),
              "file:2: a port is written [1] \"node\"[2], with ports from 1 to 254");
    EXPECT_EQ(ib("Hca 2 \"A\"\n[1] \"B\"[1]\nHca 2 \"B\"\n[1] \"A\"[2]"),
              "file:2: this port and line 4 do not agree on the cable between them");
    EXPECT_EQ(ib("Hca 2 \"A\"\n[1] \"B\"[2]\nHca 1 \"B\""), "file:2: \"B\" has 1 ports");
    EXPECT_EQ(ib("Hca 2 \"A\"\n[1] \"B\"[1]\n[1] \"B\"[2]\nHca 2 \"B\""),
              "file:3: port 1 of this node is listed twice");
    EXPECT_EQ(ib("Switch many \"A\""),
              "file:1: a node is written with its ports, 1 to 254, and its id: Switch 36 \"name\"");
    EXPECT_EQ(ib("switchguid=0xzz"),
              "file:1: a GUID is a hexadecimal number such as switchguid=0x2c902004046a8");
    EXPECT_EQ(ib("Ring 1 \"A\"").find("file:1: 'Ring' begins no line of this format"), 0u);
}

TEST(Ibnetdiscover, a_switch_with_too_many_ports_cannot_be_written) {
    EXPECT_EQ(write(Format::ibnetdiscover, *build(Star{300})).error().message,
              "switch0 has 300 ports; in InfiniBand a node has at most 254");
}

TEST(Slurm, spines_with_the_same_leaves_are_one) {
    EXPECT_EQ(*write(Format::slurm, made("leaf-spine:leaves=2,spines=3,hosts=4")),
              "# topology.conf for topology/tree\n"
              "SwitchName=leaf0 Nodes=h[0-3]\n"
              "SwitchName=leaf1 Nodes=h[4-7]\n"
              "# spine0 stands for spine[0-2]\n"
              "SwitchName=spine0 Switches=leaf[0-1]\n");
}

TEST(Slurm, a_fat_tree_has_a_switch_for_each_pod_and_one_core) {
    const std::string written = *write(Format::slurm, made("fat-tree:k=4"));
    EXPECT_NE(written.find("SwitchName=spine2 Switches=leaf[2-3]\n"), std::string::npos);
    EXPECT_NE(written.find("SwitchName=core0 Switches=spine[0,2,4,6]\n"), std::string::npos);
    EXPECT_EQ(written.find("SwitchName=core1"), std::string::npos);
}

TEST(Slurm, rails_of_a_group_of_servers_are_one_leaf) {
    EXPECT_EQ(*write(Format::slurm, made("rail:servers=4,rails=2,group=2,spines=1")),
              "# topology.conf for topology/tree\n"
              "# leaf0 stands for leaf[0-1]\n"
              "SwitchName=leaf0 Nodes=s[0-1]\n"
              "# leaf2 stands for leaf[2-3]\n"
              "SwitchName=leaf2 Nodes=s[2-3]\n"
              "SwitchName=spine0 Switches=leaf[0,2]\n");
}

TEST(Slurm, a_top_is_made_up_where_there_is_none) {
    EXPECT_EQ(*write(Format::slurm, made("ring:3")),
              "# topology.conf for topology/tree\n"
              "SwitchName=switch0 Nodes=h0\n"
              "SwitchName=switch1 Nodes=h1\n"
              "SwitchName=switch2 Nodes=h2\n"
              "SwitchName=top Switches=switch[0-2]\n");
    EXPECT_FALSE(write(Format::slurm, made("pair")));
}

TEST(Dot, tiers_are_rows_and_cables_name_their_ports) {
    EXPECT_EQ(*write(Format::dot, *build(Star{2})),
              "graph fabric {\n"
              "  rankdir=BT;\n"
              "  node [shape=box, style=filled];\n"
              "  {\n"
              "    rank=same;\n"
              "    \"h0\" [shape=ellipse, fillcolor=white];\n"
              "    \"h1\" [shape=ellipse, fillcolor=white];\n"
              "  }\n"
              "  {\n"
              "    rank=same;\n"
              "    \"switch0\" [fillcolor=lightblue];\n"
              "  }\n"
              "  \"h0\" -- \"switch0\" [taillabel=1, headlabel=1];\n"
              "  \"h1\" -- \"switch0\" [taillabel=1, headlabel=2];\n"
              "}\n");
    EXPECT_FALSE(read(Format::dot, "graph {}", "file"));
}

}  // namespace
}  // namespace tulle::topology
