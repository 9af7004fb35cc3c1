#include "cli/list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "cli/command.h"
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

void add_list(Command& program) {
    Command command = program.add_command("list", "Print what is built in: profiles");
    Command profiles = command.add_command("profiles", "Fabrics that a scenario can name");
    profiles.when_chosen(list_profiles);
}

}  // namespace tulle::cli
