// Readers of traffic files of other simulators.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "workload/message.h"

namespace tulle::workload {

// Files with more messages are refused: they would fill memory before the first one is sent.
inline constexpr size_t kMostMessages = 1 << 24;

// A connection matrix of htsim: `Nodes N`, `Connections C`, then for each connection
// `src->dst [id I] start PICOSECONDS size BYTES`. Hosts count from 0, below `nodes`.
struct ConnectionMatrix {
    uint32_t nodes = 0;
    std::vector<Message> messages;
};
base::Result<ConnectionMatrix> read_connection_matrix(std::string_view text, std::string_view file);

// A flow file of the HPCC simulator (also of SimAI and ASTRA-sim's ns-3 backend): the number of
// flows, then `src dst priority_group destination_port BYTES START`, with the start in seconds.
// Source and destination are node ids of that program, which counts hosts and switches together.
base::Result<std::vector<Message>> read_hpcc_flows(std::string_view text, std::string_view file);

// Paths that such a simulator took: `src dst | data path | acknowledgements' path`. Each path is a
// list of node ids that begins and ends with a host.
struct RecordedPath {
    uint32_t source = 0;
    uint32_t destination = 0;
    std::vector<uint32_t> data;
    std::vector<uint32_t> acknowledgements;
    uint32_t line = 0;
};
base::Result<std::vector<RecordedPath>> read_paths(std::string_view text, std::string_view file);

}  // namespace tulle::workload
