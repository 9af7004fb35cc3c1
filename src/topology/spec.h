// A fabric in one word on a command line or in a scenario: `fat-tree:k=8`, `torus:4x4x4,hosts=2`.
#pragma once

#include <string_view>

#include "base/result.h"
#include "topology/graph.h"

namespace tulle::topology {

// True if the text starts with the name of a builder, even if the rest is wrong: `star:nonsense`.
bool is_spec(std::string_view text);

// Builds the fabric, or says what to write instead.
base::Result<Graph> build_spec(std::string_view text);

// One line per builder with an example, for help texts.
std::string_view spec_help();

}  // namespace tulle::topology
