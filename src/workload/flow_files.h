// Readers of the files in which users of other simulators keep their traffic.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "workload/message.h"

namespace tulle::workload {

// More messages than this are refused: they would fill memory before the first one is sent.
inline constexpr size_t kMostMessages = 1 << 24;

// A connection matrix of htsim: `Nodes N`, `Connections C`, then for each connection
// `src->dst [id I] start PICOSECONDS size BYTES`. Hosts count from 0, below `nodes`.
struct ConnectionMatrix {
    uint32_t nodes = 0;
    std::vector<Message> messages;
};
base::Result<ConnectionMatrix> read_connection_matrix(std::string_view text, std::string_view file);

// A flow file of the HPCC simulator (SimAI and ASTRA-sim's ns-3 backend have the same): how many,
// then `src dst priority_group destination_port BYTES START`, the start in seconds. Source and
// destination are ids of that program, which counts hosts and switches together.
base::Result<std::vector<Message>> read_hpcc_flows(std::string_view text, std::string_view file);

// Paths that such a program took: `src dst | data path | acknowledgements' path`, each path a list
// of node ids with the hosts at its ends.
struct RecordedPath {
    uint32_t source = 0;
    uint32_t destination = 0;
    std::vector<uint32_t> data;
    std::vector<uint32_t> acknowledgements;
    uint32_t line = 0;
};
base::Result<std::vector<RecordedPath>> read_paths(std::string_view text, std::string_view file);

}  // namespace tulle::workload
