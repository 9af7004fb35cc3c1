#include "topology/graph.h"

#include <gtest/gtest.h>

#include "topology/builders.h"

namespace tulle::topology {
namespace {

std::string problem(const Graph& graph) {
    const auto error = graph.check();
    return error ? error->message : "";
}

Graph star(uint32_t hosts) {
    return *build(Star{hosts});
}

TEST(Graph, endpoints_are_host_nodes_in_their_order) {
    Graph graph;
    graph.add({.name = "s", .kind = NodeKind::switch_node, .tier = 1});
    graph.add({.name = "x"});
    graph.add({.name = "y"});
    EXPECT_EQ(graph.endpoints(), (std::vector<uint32_t>{1, 2}));
    EXPECT_EQ(graph.switch_count(), 1u);
}

TEST(Graph, a_port_leads_to_the_other_end_of_its_cable) {
    const Graph graph = star(3);
    const Ports ports(graph);
    EXPECT_EQ(ports.of(3).size(), 3u);
    EXPECT_EQ(ports.at({3, 2}).peer, (CableEnd{2, 0}));
    EXPECT_EQ(ports.at({2, 0}).peer, (CableEnd{3, 2}));
    EXPECT_EQ(ports.at({2, 0}).cable, 2u);
}

TEST(Graph, a_port_without_a_cable_says_so) {
    Graph graph = star(2);
    graph.nodes[2].port_count = 8;
    EXPECT_EQ(problem(graph), "");
    EXPECT_FALSE(Ports(graph).at({2, 7}).is_cabled());
}

TEST(Graph, check_names_what_is_wrong) {
    EXPECT_EQ(problem(star(4)), "");
    EXPECT_EQ(problem({}), "the fabric has no hosts");

    Graph twice = star(2);
    twice.cables.push_back(twice.cables[0]);
    EXPECT_EQ(problem(twice), "port 0 of host h0 has more than one cable");

    Graph namesakes = star(3);
    namesakes.nodes[2].name = "h0";
    EXPECT_EQ(problem(namesakes), "two nodes are called h0");

    Graph twins = star(3);
    twins.nodes[0].guid = twins.nodes[2].guid = 7;
    EXPECT_EQ(problem(twins), "host h0 and host h2 have the same GUID");

    Graph itself = star(2);
    itself.nodes[2].port_count = 4;
    itself.cables.push_back({{2, 2}, {2, 3}});
    EXPECT_EQ(problem(itself), "cable 2 leads from switch switch0 to itself");

    Graph lonely = star(2);
    lonely.add({.name = "h2", .port_count = 1});
    EXPECT_EQ(problem(lonely), "host h2 has no cable");

    Graph beyond = star(2);
    beyond.cables[1].b.port = 2;
    EXPECT_EQ(problem(beyond), "cable 1 ends at port 2 of switch switch0, which has 2 ports");

    Graph nowhere = star(2);
    nowhere.cables[1].b.node = 9;
    EXPECT_EQ(problem(nowhere), "cable 1 ends at node 9, but there are 3 nodes");
}

TEST(Graph, a_fabric_in_pieces_names_two_hosts_that_are_apart) {
    Graph graph = *build(LeafSpine{.leaves = 2, .spines = 1, .hosts = 3});
    graph.cables.pop_back();
    EXPECT_EQ(problem(graph), "host h3 cannot reach host h0");
}

TEST(Graph, pieces_that_are_meant_are_in_order_as_long_as_every_host_has_a_cable) {
    Graph graph = *build(Islands{.islands = 2, .hosts = 2});
    EXPECT_EQ(problem(graph), "");
    graph.cables.pop_back();
    EXPECT_EQ(problem(graph), "host g3 has no cable");
    graph = *build(Islands{.islands = 2, .hosts = 2});
    graph.is_in_pieces = false;
    EXPECT_EQ(problem(graph), "host g2 cannot reach host g0");
}

TEST(Graph, a_host_passes_nothing_on) {
    Graph graph;
    for (const char* name : {"a", "b", "c"}) graph.add({.name = name});
    graph.connect(0, 1);
    graph.connect(1, 2);
    EXPECT_EQ(problem(graph), "host c cannot reach host a");
}

}  // namespace
}  // namespace tulle::topology
