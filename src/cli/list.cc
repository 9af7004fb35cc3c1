#include "cli/list.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "cli/exit_code.h"
#include "cli/input.h"
#include "cli/output.h"
#include "scenario/profile.h"

namespace tulle::cli {
namespace {

int list_profiles() {
    size_t width = 0;
    for (const scenario::BuiltInProfile& profile : scenario::built_in_profiles())
        width = std::max(width, profile.name.size());
    Output standard = Output::standard();
    for (const scenario::BuiltInProfile& known : scenario::built_in_profiles()) {
        const auto profile = scenario::read_profile(known.name, read_file);
        standard.print("{:<{}}  {}\n", known.name, width,
                       profile ? profile->description : profile.error().message);
    }
    if (const auto error = standard.finish()) {
        fmt::print(stderr, "tulle list: {}\n", error->message);
        return kRunFailed;
    }
    return kDone;
}

}  // namespace

void add_list(CLI::App& app, int& exit_code) {
    CLI::App* command = app.add_subcommand("list", "Print what is built in: profiles");
    command->require_subcommand(1);
    CLI::App* profiles = command->add_subcommand("profiles", "Fabrics that a scenario can name");
    profiles->callback([&exit_code] { exit_code = list_profiles(); });
}

}  // namespace tulle::cli
