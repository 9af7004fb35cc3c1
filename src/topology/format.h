// All formats behind two functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "topology/graph.h"

namespace tulle::topology {

enum class Format : uint8_t { yaml, hpcc, ibnetdiscover, dot, slurm };

// By its name: "hpcc".
std::optional<Format> format_named(std::string_view name);
// Recognises the format of a file by its content; the last two formats cannot be read.
Format guess_format(std::string_view content);

// Reads a fabric and checks it (Graph::check). `name` is the file's, for error messages.
base::Result<Graph> read(Format format, std::string_view content, std::string_view name);
// The same for callers that check it themselves.
base::Result<Graph> read_unchecked(Format format, std::string_view content, std::string_view name);
base::Result<std::string> write(Format format, const Graph& graph);

}  // namespace tulle::topology
