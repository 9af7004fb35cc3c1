// Chakra execution traces (mlcommons/chakra, schema/protobuf/et_def.proto): a file for each rank,
// PREFIX.N.et. A file is a message GlobalMetadata and then one Node each, every message behind its
// length. Times are microseconds, sizes bytes.
//
// Both kinds of dependencies count. A collective's size is that of a rank's input: an all-gather
// moves as much for each of its ranks. Process groups are described by a node of the file itself,
// or by a file beside it; a group without a name is that of all ranks.
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

// How long computing takes that says what it computes, and no time: the slower of the two.
struct Roofline {
    uint64_t flops_per_second = 0;  // 0: durations are taken as they are
    uint64_t bytes_per_second = 0;
};

struct ChakraOptions {
    uint32_t ranks = 0;  // of the trace
    // By name: what the files do not say themselves.
    std::map<std::string, std::vector<uint32_t>> groups;
    // Of the network that the trace was made for, the innermost first: what `involved_dim` counts.
    std::vector<uint32_t> dimensions;
    Roofline roofline;
};

class ChakraReader {
public:
    explicit ChakraReader(ChakraOptions options);

    // Adds the next rank from the bytes of its file; or "FILE: byte 12: sentence".
    std::optional<base::Error> add_rank(std::string_view bytes, const std::string& file);
    // Once all are there.
    Trace take();

private:
    friend class ChakraFile;
    ChakraOptions options_;
    Trace trace_;
    // What is noted at the end.
    uint64_t without_duration_ = 0;
    uint64_t memory_nodes_ = 0;
    uint64_t reduces_ = 0;
};

}  // namespace tulle::traces
