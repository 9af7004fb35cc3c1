// A fabric as one word of a command line or a scenario: `fat-tree:k=8`, `torus:4x4x4,hosts=2`.
#pragma once

#include <string_view>

#include "base/result.h"
#include "topology/graph.h"

namespace tulle::topology {

// True where the text names a builder, rightly used or not: `fat-tree`, `star:nonsense`.
bool is_spec(std::string_view text);

// Builds what the text describes, or says what to write instead.
base::Result<Graph> build_spec(std::string_view text);

// A line for each builder with an example, for help texts.
std::string_view spec_help();

}  // namespace tulle::topology
