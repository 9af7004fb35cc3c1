// Configuration files of ASTRA-sim 2: the system (JSON) and the analytical network (YAML).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "topology/graph.h"
#include "traces/chakra.h"
#include "workload/collectives/algorithms.h"
#include "workload/program.h"

namespace tulle::scenario {

// What of a system file has a meaning here: by what collectives are done, and how fast a GPU is.
struct AstraSystem {
    std::map<workload::Collective, workload::Algorithm> algorithms;
    traces::Roofline roofline;       // with `roofline-enabled` alone
    std::vector<std::string> notes;  // which keys have no effect, and which unit was read
};
base::Result<AstraSystem> read_astra_system(std::string_view text, const std::string& file);

// The dimensions of a network file, the innermost first.
struct AstraDimension {
    std::string shape;  // Ring, FullyConnected or Switch
    uint32_t npus = 0;
    uint64_t rate_bps = 0;  // a GB/s is 2^30 bytes a second there
    uint64_t latency_ps = 0;
};
base::Result<std::vector<AstraDimension>> read_astra_network(std::string_view text,
                                                             const std::string& file);

// Its hosts, switches and cables. One dimension: NPUs that a switch, a ring or cables from each to
// each join. Of two, the inner one is the inside of servers, whose network is that of `gpus`; the
// outer one joins NPUs of the same place in each server, a rail each.
base::Result<topology::Graph> astra_graph(const std::vector<AstraDimension>& dimensions,
                                          const std::string& file);

}  // namespace tulle::scenario
