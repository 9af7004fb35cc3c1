// NCCL's topology file (NCCL_TOPO_DUMP_FILE): the inside of a server as XML. What of it matters
// here: how many GPUs and adapters a server has, and what joins its GPUs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "scenario/tree.h"

namespace tulle::scenario {

struct NcclServer {
    uint32_t gpus = 0;
    uint32_t adapters = 0;      // network ports
    uint32_t architecture = 0;  // 90: SM90
    uint32_t links = 0;         // of NVLink, of the GPU that has fewest
    uint64_t pcie_mbps = 0;     // 10^6 bytes a second, of the GPU with the slowest slot
    uint64_t adapter_mbps = 0;  // 10^6 bits a second, of the slowest

    // 10^6 bytes a second of all NVLinks of a GPU, as NCCL reckons them; 0: none.
    uint64_t nvlink_mbps() const;
};

// Or "FILE:LINE: sentence".
base::Result<NcclServer> read_nccl_topology(std::string_view text, const std::string& file);

// The map `gpus` with what the server says put into it, unless the map says it already: per_server,
// per_nic and scale_up. Or a sentence why it cannot.
base::Result<Value> gpus_of_server(const NcclServer& server, const Value& gpus);

}  // namespace tulle::scenario
