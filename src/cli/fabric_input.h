// Reads the fabric that the command line names: a topology by name, or a file in any format.
#pragma once

#include <string>

#include "base/result.h"
#include "topology/format.h"

namespace tulle::cli {

base::Result<topology::Format> fabric_format(const std::string& name);

// The graph is checked (Graph::check). `from` is the format of the file; empty: recognised. "-" is
// standard input.
base::Result<topology::Graph> read_fabric(const std::string& fabric, const std::string& from);

// The same for callers that report problems themselves: nodes that share a GUID are no error, but
// lose it in `graph`.
struct FabricWithFaults {
    topology::Graph graph;       // checked
    topology::Graph as_written;  // with the GUIDs of the file
};
base::Result<FabricWithFaults> read_fabric_with_faults(const std::string& fabric,
                                                       const std::string& from);

}  // namespace tulle::cli
