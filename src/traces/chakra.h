// Chakra execution traces (mlcommons/chakra, schema/protobuf/et_def.proto): one file per rank,
// PREFIX.N.et. A file holds a message GlobalMetadata and then one message Node per node, each
// preceded by its length. Times are in microseconds, sizes in bytes.
//
// Both kinds of dependencies count. The size of a collective is that of a rank's input: an
// all-gather moves that much for each of its ranks. A node of the file or a separate file describes
// process groups; a group without a name is that of all ranks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "traces/trace.h"

namespace tulle::traces {

// The duration of computation that has operations and bytes but no time: the slower of the two.
struct Roofline {
    uint64_t flops_per_second = 0;  // 0: use the durations of the trace
    uint64_t bytes_per_second = 0;
};

struct ChakraOptions {
    uint32_t ranks = 0;  // of the trace
    // Process groups by name, for those that the files do not describe.
    std::map<std::string, std::vector<uint32_t>> groups;
    // Sizes of the trace's network, innermost dimension first; `involved_dim` refers to them.
    std::vector<uint32_t> dimensions;
    Roofline roofline;
};

class ChakraReader {
public:
    explicit ChakraReader(ChakraOptions options);

    // Adds the next rank from the content of its file. An error is "FILE: byte 12: sentence".
    std::optional<base::Error> add_rank(std::string_view bytes, const std::string& file);
    // Call once all ranks are added.
    Trace take();

private:
    friend class ChakraFile;
    ChakraOptions options_;
    Trace trace_;
    // Counts for the notes that take() adds.
    uint64_t without_duration_ = 0;
    uint64_t memory_nodes_ = 0;
    uint64_t reduces_ = 0;
};

}  // namespace tulle::traces
