#include "cli/show.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/words.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "scenario/built_in.h"
#include "scenario/profile.h"

namespace tulle::cli {
namespace {

std::optional<std::string_view> text_named(std::string_view name) {
    for (const scenario::BuiltInProfile& profile : scenario::built_in_profiles())
        if (profile.name == name) return profile.text;
    for (const scenario::BuiltInText& example : scenario::built_in_examples())
        if (example.name == name) return example.text;
    return std::nullopt;
}

base::Error unknown(const std::string& name) {
    std::vector<std::string_view> names;
    for (const scenario::BuiltInProfile& profile : scenario::built_in_profiles())
        names.push_back(profile.name);
    for (const scenario::BuiltInText& example : scenario::built_in_examples())
        names.push_back(example.name);
    return {fmt::format("there is no profile and no example '{}'; {}", name,
                        base::did_you_mean(name, names,
                                           "`tulle list profiles` and `tulle list examples` name "
                                           "them"))};
}

int show(const std::string& name) {
    const auto text = text_named(name);
    return text ? print_all("tulle show", *text) : fail("show", unknown(name), kInputWrong);
}

}  // namespace

void add_show(Command& program) {
    const auto name = std::make_shared<std::string>();
    Command command = program.add_command("show", "Print a profile or an example");
    command.add_examples(R"(Examples:
  tulle show ib-ndr                    a profile: its values and their source
  tulle show pfc-victim > mine.yaml    copies an example, to change it
  tulle show pfc-victim | tulle sim -  runs an example

`tulle list profiles` and `tulle list examples` list the names.)");
    command.option("NAME", *name, "A profile or an example", {.is_required = true});
    command.when_chosen([name] { return show(*name); });
}

}  // namespace tulle::cli
