// NCCL's topology file: the inside of a server as XML. Used here: the number of GPUs and adapters
// of a server, and the links between its GPUs.
//
// NCCL writes all of that (NCCL_TOPO_DUMP_FILE). Files that clouds give to NCCL (NCCL_TOPO_FILE)
// are often outlines: PCI devices with their classes only, and NCCL finds the rest itself.
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
    uint32_t links = 0;         // NVLinks of the GPU with the fewest
    // Other GPUs that the NVLinks of a GPU lead to, for the GPU with the fewest; a switch leads to
    // all.
    uint32_t neighbours = 0;
    bool is_outline = false;  // it has PCI devices only
    uint64_t pcie_mbps = 0;   // 10^6 bytes a second, for the GPU with the slowest slot

    // The rate of all NVLinks of a GPU, as NCCL computes it, in 10^6 bytes a second; 0: no NVLink.
    uint64_t nvlink_mbps() const;
};

// Errors are "FILE:LINE: sentence".
base::Result<NcclServer> read_nccl_topology(std::string_view text, const std::string& file);

// The map `gpus` with values of the server added where it does not set them: per_server, per_nic
// and scale_up. One port stands for all of a GPU that has several. Or a sentence why that is
// impossible.
base::Result<Value> gpus_of_server(const NcclServer& server, const Value& gpus);

}  // namespace tulle::scenario
