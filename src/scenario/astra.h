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

// The parts of a system file that are used: the collective algorithms, and the speed of a GPU.
struct AstraSystem {
    std::map<workload::Collective, workload::Algorithm> algorithms;
    traces::Roofline roofline;       // only with `roofline-enabled`
    std::vector<std::string> notes;  // keys without effect, and the unit that was read
};
base::Result<AstraSystem> read_astra_system(std::string_view text, const std::string& file);

// The dimensions of a network file, innermost first.
struct AstraDimension {
    std::string shape;  // Ring, FullyConnected or Switch
    uint32_t npus = 0;
    uint64_t rate_bps = 0;  // a GB/s of the file is 2^30 bytes a second
    uint64_t latency_ps = 0;
};
base::Result<std::vector<AstraDimension>> read_astra_network(std::string_view text,
                                                             const std::string& file);

// The hosts, switches and cables of a network file. With one dimension, NPUs are joined by a
// switch, a ring, or cables between all pairs. With two, the inner dimension is the inside of
// servers, whose network is that of `gpus`. The outer one joins NPUs of the same place in each
// server, one rail for each place.
base::Result<topology::Graph> astra_graph(const std::vector<AstraDimension>& dimensions,
                                          const std::string& file);

}  // namespace tulle::scenario
