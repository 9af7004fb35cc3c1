#include "scenario/files.h"

#include <fmt/format.h>

#include "base/units.h"

namespace tulle::scenario {

std::optional<base::Error> check_file_size(std::string_view path, uint64_t bytes, uint64_t most) {
    if (bytes <= most) return std::nullopt;
    return base::Error{fmt::format("{}:1: the file has {}; at most {} are read", path,
                                   base::bytes_to_string(bytes), base::bytes_to_string(most))};
}

std::string resolve(std::string_view named_in, std::string_view path) {
    const size_t slash = named_in.rfind('/');
    if (slash == std::string_view::npos || path.substr(0, 1) == "/") return std::string(path);
    return fmt::format("{}/{}", named_in.substr(0, slash), path);
}

}  // namespace tulle::scenario
