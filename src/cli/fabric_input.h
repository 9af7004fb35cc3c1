// Reads the fabric that the command line names: a topology by name, or a file in any format.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "topology/format.h"
#include "topology/ibnetdiscover.h"

namespace tulle::cli {

base::Result<topology::Format> fabric_format(const std::string& name);

// The graph is checked (Graph::check). `from` is the format of the file; empty: recognised. "-" is
// standard input.
base::Result<topology::Graph> read_fabric(const std::string& fabric, const std::string& from);

// A fabric with all its faults: it may be in pieces, hosts may lack cables, and nodes that share a
// GUID have none in `graph`.
struct FabricWithFaults {
    topology::Graph graph;
    topology::Graph as_written;            // with the GUIDs of the file
    std::vector<topology::GivenLid> lids;  // of the file
};
enum class SharedGuids : uint8_t { refused, allowed };
base::Result<FabricWithFaults> read_fabric_with_faults(const std::string& fabric,
                                                       SharedGuids shared);

}  // namespace tulle::cli
