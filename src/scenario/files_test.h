// For tests: files in memory and in the source tree, and what a text is answered with.
#pragma once

#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "scenario/scenario.h"

namespace tulle::scenario {

inline base::Result<std::string> read_source_file(const std::string& path) {
    std::ifstream file(path);
    if (!file) return base::Error{"cannot open " + path};
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

inline FileReader files_in_memory(std::map<std::string, std::string> files) {
    return [files = std::move(files)](const std::string& path) -> base::Result<std::string> {
        const auto found = files.find(path);
        if (found == files.end()) return base::Error{"cannot open " + path};
        return found->second;
    };
}

// The complaint of a scenario called s.yaml, or "read".
inline std::string answer(std::string_view text, const FileReader& files = files_in_memory({}),
                          const Overrides& overrides = {}) {
    const auto setup = read_scenario(text, "s.yaml", files, overrides);
    return setup ? "read" : setup.error().message;
}

}  // namespace tulle::scenario
