// Files that a scenario names. The room opens no file: its caller passes a function that does.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tulle::scenario {

// Larger flow files and topologies are refused.
inline constexpr uint64_t kMostFileBytes = 256 << 20;

// Returns the text of a file, or a sentence why it cannot be read. An implementation calls
// check_file_size() before it reads the first byte.
using FileReader = std::function<base::Result<std::string>(const std::string& path)>;

// An error if a file of this size is too large. `most` is kMostTextBytes of tree.h for scenarios
// and profiles.
std::optional<base::Error> check_file_size(std::string_view path, uint64_t bytes,
                                           uint64_t most = kMostFileBytes);

// Resolves a path against the folder of the file that names it.
std::string resolve(std::string_view named_in, std::string_view path);

}  // namespace tulle::scenario
