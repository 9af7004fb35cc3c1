#include "control/subnet/dump.h"

#include <gtest/gtest.h>

#include "control/subnet/check/cables.h"
#include "control/subnet/check/reach.h"
#include "control/subnet/routing/engines.h"
#include "control/subnet/testing.h"

namespace tulle::control {
namespace {

using testing::graph_of;
using testing::subnet_of;

// As OpenSM 3.3.23 wrote it of two hosts on a switch.
constexpr const char* kOpenSm =
    "Unicast lids [0-3] of switch Lid 3 guid 0x0200000000000300 ('switch0'):\n"
    "0x0001 001 # Channel Adapter portguid 0x0200000000000101: 'h0'\n"
    "0x0002 002 # Channel Adapter portguid 0x0200000000000201: 'h1'\n"
    "0x0003 000 # Switch portguid 0x0200000000000300: 'switch0'\n"
    "3 lids dumped\n";

// The same as ibroute prints it.
constexpr const char* kIbroute =
    "Unicast lids [0x0-0x3] of switch Lid 3 guid 0x0200000000000300 (switch0):\n"
    "  Lid  Out   Destination\n"
    "       Port     Info \n"
    "0x0001 001 : (Channel Adapter portguid 0x0200000000000101: 'h0')\n"
    "0x0002 002 : (Channel Adapter portguid 0x0200000000000201: 'h1')\n"
    "0x0003 000 : (Switch portguid 0x0200000000000300: 'switch0')\n"
    "3 valid lids dumped \n";

TEST(lft_dump, is_written_as_opensm_writes_it) {
    const topology::Graph graph = graph_of("star:2");
    const Subnet subnet = subnet_of(graph);
    EXPECT_EQ(write_lfts(graph, subnet, route_min_hop(subnet, {}).tables), kOpenSm);
}

TEST(lft_dump, is_read_as_opensm_and_as_ibroute_write_it) {
    const topology::Graph graph = graph_of("star:2");
    for (const char* const written : {kOpenSm, kIbroute}) {
        const auto dumped = read_lfts(written, "x", graph);
        ASSERT_TRUE(dumped.ok()) << dumped.error().message;
        const auto subnet = Subnet::make(graph, dumped->owners);
        EXPECT_EQ(dumped->tables(*subnet), route_min_hop(*subnet, {}).tables);
    }
}

TEST(lft_dump, comes_back_as_it_was_for_every_engine) {
    const topology::Graph graph = graph_of("dragonfly:a=4,p=2,h=2");
    const Subnet subnet = subnet_of(graph);
    for (const RoutingEngine& engine : routing_engines()) {
        const ForwardingTables tables = engine.route(subnet, {}).tables;
        const auto dumped = read_lfts(write_lfts(graph, subnet, tables), "x", graph);
        ASSERT_TRUE(dumped.ok()) << dumped.error().message;
        const auto again = Subnet::make(graph, dumped->owners);
        EXPECT_EQ(dumped->tables(*again), tables);
    }
}

TEST(lft_dump, says_what_is_wrong_with_which_line) {
    const topology::Graph graph = graph_of("star:2");
    const auto message = [&](std::string_view text) {
        return read_lfts(text, "x", graph).error().message;
    };
    EXPECT_EQ(message(""), "x:1: there is no line 'Unicast lids ... of switch ...'");
    EXPECT_EQ(message("0x0001 001\n"), "x:1: a LID comes before the first switch");
    const std::string head = "Unicast lids [0-3] of switch Lid 3 guid 0x300 ('switch0'):\n";
    EXPECT_EQ(message(head + "0x0000 001\n"),
              "x:2: a unicast LID is a number from 0x0001 to 0xbfff");
    EXPECT_EQ(message(head + "0x0001\n"),
              "x:2: a LID is followed by the number of a port, 000 to 255");
    EXPECT_EQ(message(head + "0x0001 001 # Switch portguid 0x5: 'nobody'\n"),
              "x:2: this port is nobody's in the fabric, neither by GUID nor by name");
    EXPECT_EQ(message(head + "0x0003 001 # Channel Adapter portguid 0x5: 'h1'\n"),
              "x:2: LID 3 is both switch0's and h1's");
    EXPECT_EQ(message("Unicast lids [0-3] of switch Lid 3 guid 0x300 ('h1'):\n"),
              "x:1: this is no switch of the fabric: it has neither its GUID nor its name");
    EXPECT_EQ(message("nonsense here\n").substr(0, 30), "x:1: 'nonsense' begins no line");
}

TEST(cables, with_another_rate_than_those_beside_them_are_odd) {
    topology::Graph graph = graph_of("leaf-spine:leaves=2,spines=2,hosts=2");
    for (topology::Cable& cable : graph.cables) cable.rate_bps = 200;
    EXPECT_TRUE(odd_cables(graph).empty());
    graph.cables.back().rate_bps = 100;
    const auto odd = odd_cables(graph);
    ASSERT_EQ(odd.size(), 1u);
    EXPECT_EQ(odd[0].cable, graph.cables.size() - 1);
    EXPECT_EQ(odd[0].rate_bps, 100u);
    EXPECT_EQ(odd[0].usual_bps, 200u);
}

TEST(guids, that_two_nodes_share_are_found) {
    topology::Graph graph = graph_of("star:3");
    graph.nodes[0].guid = graph.nodes[2].guid = 7;
    const auto shared = shared_guids(graph);
    ASSERT_EQ(shared.size(), 1u);
    EXPECT_EQ(shared[0].first, 0u);
    EXPECT_EQ(shared[0].second, 2u);
}

}  // namespace
}  // namespace tulle::control
