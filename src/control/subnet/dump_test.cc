#include "control/subnet/dump.h"

#include <gtest/gtest.h>

#include "control/subnet/check/cables.h"
#include "control/subnet/check/credit_loops.h"
#include "control/subnet/check/reach.h"
#include "control/subnet/lane_dump.h"
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

struct ReadBack {
    Subnet subnet;
    ForwardingTables tables;
    DumpedLanes lanes;
};

// What an engine's dumps say.
ReadBack read_back(const topology::Graph& graph, const Subnet& subnet, const Routing& routing) {
    const auto dumped = read_lfts(write_lfts(graph, subnet, routing.tables), "x", graph);
    Subnet again = std::move(*Subnet::make(graph, dumped->owners));
    const ForwardingTables tables = dumped->tables(again);
    DumpedLanes lanes(again);
    const std::string levels = write_path_levels(graph, subnet, routing.lanes);
    const auto level_error = lanes.read_path_levels(levels, "levels", graph, again);
    EXPECT_FALSE(level_error) << level_error->message;
    const auto map_error =
        lanes.read_sl2vl(write_sl2vl(graph, subnet, routing.lanes), "maps", graph, again);
    EXPECT_FALSE(map_error) << map_error->message;
    return {std::move(again), tables, std::move(lanes)};
}

TEST(lane_dump, shows_the_same_credit_loops_as_the_engine_that_wrote_it) {
    for (const char* const fabric :
         {"ring:7", "torus:4x4", "torus:3x3x3,hosts=2", "fat-tree:k=4", "dragonfly:a=4,p=2,h=2"}) {
        const topology::Graph graph = graph_of(fabric);
        const Subnet subnet = subnet_of(graph);
        for (const RoutingEngine& engine : routing_engines()) {
            const Routing routing = engine.route(subnet, {});
            const ReadBack read = read_back(graph, subnet, routing);
            EXPECT_EQ(
                find_credit_loop(subnet, routing.tables, routing.lanes).has_value(),
                find_credit_loop(read.subnet, read.tables, read.lanes, PathEnds::hosts_and_switches)
                    .has_value())
                << fabric << ", " << engine.name;
            EXPECT_EQ(read.lanes.unnamed_paths(), 0u);
            EXPECT_LE(read.lanes.count(), 8);
        }
    }
}

TEST(lane_dump, that_is_left_out_closes_the_loop_that_lanes_had_opened) {
    const topology::Graph graph = graph_of("ring:7");
    const Subnet subnet = subnet_of(graph);
    const Routing routing = route_dfsssp(subnet, {});
    ASSERT_EQ(routing.lanes.count, 2);
    const DumpedLanes no_levels(subnet);
    EXPECT_TRUE(find_credit_loop(subnet, routing.tables, no_levels, PathEnds::hosts));
    // Maps that put all levels on lane 0 take away what the levels gave.
    DumpedLanes lanes(subnet);
    ASSERT_FALSE(lanes.read_path_levels(write_path_levels(graph, subnet, routing.lanes), "levels",
                                        graph, subnet));
    EXPECT_FALSE(find_credit_loop(subnet, routing.tables, lanes, PathEnds::hosts));
    ASSERT_FALSE(lanes.read_sl2vl(write_sl2vl(graph, subnet, {}), "maps", graph, subnet));
    EXPECT_TRUE(find_credit_loop(subnet, routing.tables, lanes, PathEnds::hosts));
    EXPECT_EQ(lanes.count(), 1);
}

TEST(lane_dump, is_read_as_opensm_and_as_ibdmchk_write_it) {
    const topology::Graph graph = graph_of("star:2");
    const Subnet subnet = subnet_of(graph);
    const uint32_t in = subnet.port_index(0, 1);
    for (const char* const maps :
         {"Switch 0x0200000000000300, base LID 3, \"switch0\"\n"
          "#in out : 0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 15\n"
          "1   2   : 0  1  2  3  4  5  6  7  7  6  5  4  3  2  1  15 \n"
          "Channel Adapter 0x0200000000000101, base LID 1, \"h0\"\n"
          "0   0   : 0  1  2  3  4  5  6  7  0  1  2  3  4  5  6  7 \n",
          "0x0200000000000300 1 2 0x01 0x23 0x45 0x67 0x76 0x54 0x32 0x1f\n"}) {
        DumpedLanes lanes(subnet);
        ASSERT_FALSE(lanes.read_sl2vl(maps, "x", graph, subnet));
        EXPECT_EQ(lanes.lane(in, 2, 9), 6);
        EXPECT_EQ(lanes.lane(in, 2, 15), 15);
        EXPECT_EQ(lanes.lane(in, 1, 9), 9) << "no line names this pair of ports";
    }
    for (const char* const levels :
         {"0x0200000000000101 2 6\n", "0x0200000000000100 2 6\n",
          "Nov 19 [22A766C0] 0x04 -> other\n"
          "Nov 19 [22A766C0] 0x08 -> vltable_print:    route from src_lid=1 to dest_lid=2 on "
          "vl=6\n"}) {
        DumpedLanes lanes(subnet);
        ASSERT_FALSE(lanes.read_path_levels(levels, "x", graph, subnet));
        EXPECT_EQ(lanes.level(1, 2), 6);
        EXPECT_EQ(lanes.level(2, 1), 0);
        EXPECT_EQ(lanes.unnamed_paths(), 1u) << "from the second host to the first";
    }
}

TEST(lane_dump, says_what_is_wrong_with_which_line) {
    const topology::Graph graph = graph_of("star:2");
    const Subnet subnet = subnet_of(graph);
    const auto levels = [&](std::string_view text) {
        return DumpedLanes(subnet).read_path_levels(text, "x", graph, subnet)->message;
    };
    const auto maps = [&](std::string_view text) {
        return DumpedLanes(subnet).read_sl2vl(text, "x", graph, subnet)->message;
    };
    EXPECT_EQ(levels(""), "x:1: there is no path; a line is a GUID, a LID and a level");
    EXPECT_EQ(levels("0x77 2 0"), "x:1: the fabric has no GUID 0x77");
    EXPECT_EQ(levels("0x0200000000000101 77 0"),
              "x:1: LID 77 is nobody's in the forwarding tables");
    EXPECT_EQ(levels("0x0200000000000101 2 16"),
              "x:1: a path is the GUID of its sender, a LID and a service level, 0 to 15");
    EXPECT_EQ(levels("a\nroute from src_lid=1 to dest_lid=2 on"),
              "x:2: a path is 'route from src_lid=N to dest_lid=N on vl=0 to 15'");
    EXPECT_EQ(maps("# nothing"), "x:1: there is no line with the lanes of a switch");
    EXPECT_EQ(maps("1 2 : 0"), "x:1: lanes come before the first switch");
    const std::string head = "Switch 0x0200000000000300, base LID 3\n";
    EXPECT_EQ(maps(head + "1 2 : 0 1"), "x:2: a row is 'in out : ' and 16 lanes, each 0 to 15");
    EXPECT_EQ(maps(head + "1 9 : 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"),
              "x:2: switch0 has 2 ports in the fabric, not 9");
    EXPECT_EQ(maps("0x0200000000000300 1 2 0x01"),
              "x:1: a row is the GUID of a switch, in, out, and 8 bytes such as 0x01, each with "
              "two lanes");
    EXPECT_EQ(maps("Switch 0x5, base LID 3\n"), "x:1: the fabric has no GUID 0x5,");
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
