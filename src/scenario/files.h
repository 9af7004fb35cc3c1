// Files that a scenario names. The room reads none itself: its caller hands over a way to do so.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tulle::scenario {

// Flow files and topologies above this are refused.
inline constexpr uint64_t kMostFileBytes = 256 << 20;

// The text of a file, or a sentence why there is none. Whoever opens it asks check_file_size()
// before the first byte is read.
using FileReader = std::function<base::Result<std::string>(const std::string& path)>;

// A sentence if a file of this size is not worth opening. `most` is kMostTextBytes of tree.h for
// scenarios and profiles.
std::optional<base::Error> check_file_size(std::string_view path, uint64_t bytes,
                                           uint64_t most = kMostFileBytes);

// A path as seen from the folder of the file that names it.
std::string resolve(std::string_view named_in, std::string_view path);

}  // namespace tulle::scenario
