// The output of ibnetdiscover(8) for a real fabric, and its short form that ibsim reads:
//
//   switchguid=0x2c902004046a8(2c902004046a8)
//   Switch 36 "S-0002c902004046a8"   # "leaf 1" base port 0 lid 5 lmc 0
//   [1] "H-0002c903000e5a84"[1](2c903000e5a85)   # "node01 HCA-1" lid 11 4xQDR
//
// Every cable is listed at both ends; one end suffices, and two must agree. The data rate of a link
// is its width times the rate of a lane after line coding. The format has no delays or lengths.
// Where the ends of a cable name two speeds, the lower one counts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "topology/graph.h"

namespace tulle::topology {

// `name` is the file's, for error messages. "node01 HCA-2" and "node01 mlx5_1" are the second
// adapter of server node01. Aggregation nodes inside switches are left out.
base::Result<Graph> read_ibnetdiscover(std::string_view text, std::string_view name);

// A LID that such a file gives to a port of a host, or to a switch: its port is 0 then.
struct GivenLid {
    CableEnd owner;
    uint16_t lid = 0;
    uint8_t lmc = 0;  // the port has 2^lmc LIDs
};
// The same with the LIDs, in the order of the file.
struct DiscoveredFabric {
    Graph graph;
    std::vector<GivenLid> lids;
};
base::Result<DiscoveredFabric> read_discovered(std::string_view text, std::string_view name);

// The GUID of each node; a node without one gets one made from its index. Port p of a host, counted
// from 1, has the GUID of its node plus p.
std::vector<uint64_t> node_guids(const Graph& graph);

base::Result<std::string> write_ibnetdiscover(const Graph& graph);

}  // namespace tulle::topology
