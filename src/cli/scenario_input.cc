#include "cli/scenario_input.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/input.h"
#include "scenario/built_in.h"
#include "scenario/files.h"

namespace tulle::cli {

base::Result<std::string> read_text(const std::string& path) {
    auto text = read_file(path);
    if (text)
        if (auto error = scenario::check_file_size(path, text->size())) return *error;
    return text;
}

base::Result<std::string> read_scenario_text(const std::string& path) {
    auto text = read_text(path);
    const auto is_named = [&](const scenario::BuiltInText& one) { return one.name == path; };
    if (text || std::ranges::none_of(scenario::built_in_examples(), is_named)) return text;
    return base::Error{fmt::format("{}; `tulle show {} > {}.yaml` writes the example of that name",
                                   text.error().message, path, path)};
}

void add_skipping(Command& command, bool& skips, bool& checks) {
    command.flag("--skip", skips, "Extrapolate rings, chains and trees once their pace is steady");
    command.flag("--check", checks, "With --skip: simulate a skipped part in full and compare");
    command.need("--check", "--skip");
}

base::Result<std::vector<std::pair<std::string, std::string>>> parse_settings(
    const std::vector<std::string>& settings) {
    std::vector<std::pair<std::string, std::string>> pairs;
    for (const std::string& setting : settings) {
        const size_t equals = setting.find('=');
        if (equals == std::string::npos || equals == 0 || equals + 1 == setting.size())
            return base::Error{fmt::format(
                "--set {}: write KEY=VALUE, such as fabric.switch.buffer=4MiB", setting)};
        pairs.emplace_back(setting.substr(0, equals), setting.substr(equals + 1));
    }
    return pairs;
}

}  // namespace tulle::cli
