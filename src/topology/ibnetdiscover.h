// What ibnetdiscover(8) prints of a real fabric, and the short form of the same that ibsim reads:
//
//   switchguid=0x2c902004046a8(2c902004046a8)
//   Switch 36 "S-0002c902004046a8"   # "leaf 1" base port 0 lid 5 lmc 0
//   [1] "H-0002c903000e5a84"[1](2c903000e5a85)   # "node01 HCA-1" lid 11 4xQDR
//
// Every cable is listed at both ends; once is enough, twice must agree. The data rate of a link is
// its width times what its speed leaves after line coding. Delays and lengths are not in the
// format.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "topology/graph.h"

namespace tulle::topology {

// `name` is that of the file, for sentences. "node01 HCA-2" and "node01 mlx5_1" are the second
// adapter of server node01. Aggregation nodes that live inside switches are left out.
base::Result<Graph> read_ibnetdiscover(std::string_view text, std::string_view name);

// The GUID of each node; those without one get one made of their place in the list. Port p of a
// host, counted from 1, has that of its node and p.
std::vector<uint64_t> node_guids(const Graph& graph);

base::Result<std::string> write_ibnetdiscover(const Graph& graph);

}  // namespace tulle::topology
