#include "cli/list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/result_files.h"
#include "scenario/built_in.h"
#include "scenario/profile.h"
#include "scenario/tree.h"
#include "topology/spec.h"

namespace tulle::cli {
namespace {

struct Entry {
    std::string name;
    std::string what;
};

std::vector<Entry> profiles() {
    std::vector<Entry> entries;
    for (const scenario::BuiltInProfile& known : scenario::built_in_profiles()) {
        const auto profile = scenario::read_profile(known.name, read_file);
        entries.push_back(
            {std::string(known.name), profile ? profile->description : profile.error().message});
    }
    return entries;
}

std::vector<Entry> examples() {
    std::vector<Entry> entries;
    for (const scenario::BuiltInText& example : scenario::built_in_examples()) {
        const auto tree = scenario::parse_tree(example.text, example.name);
        const scenario::Value* what = tree ? tree->find("description") : nullptr;
        entries.push_back({std::string(example.name), what != nullptr ? what->text : ""});
    }
    return entries;
}

// One entry per topology. Two or more spaces separate the name from its description.
std::vector<Entry> topologies() {
    std::vector<Entry> entries;
    std::string_view help = topology::spec_help();
    while (!help.empty()) {
        const size_t end = std::min(help.find('\n'), help.size() - 1);
        const std::string_view line = help.substr(0, end);
        help.remove_prefix(end + 1);
        const size_t name = line.find_first_not_of(' ');
        if (name == std::string_view::npos) continue;
        if (name > 2 && !entries.empty()) {  // a continuation line
            entries.back().what += " " + std::string(line.substr(name));
            continue;
        }
        const size_t gap = line.find("  ", name);
        const size_t what = gap == std::string_view::npos ? gap : line.find_first_not_of(' ', gap);
        entries.push_back({std::string(line.substr(name, gap - name)),
                           what == std::string_view::npos ? "" : std::string(line.substr(what))});
    }
    return entries;
}

std::string json_of_entries(const std::vector<Entry>& entries) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Entry& entry : entries)
        list.push_back({{"name", entry.name}, {"description", entry.what}});
    return list.dump(2) + "\n";
}

int print_entries(const std::vector<Entry>& entries, const std::string& json) {
    auto files = ResultFiles::open({{json, [&] { return json_of_entries(entries); }}});
    if (!files) return fail("list", files.error(), kInputWrong);
    if (!files->takes_standard_output()) {
        size_t width = 0;
        for (const Entry& entry : entries) width = std::max(width, entry.name.size());
        Output standard = Output::standard();
        for (const Entry& entry : entries)
            standard.print("{:<{}}  {}\n", entry.name, width, entry.what);
        if (const auto error = standard.finish()) return fail("list", *error, kRunFailed);
    }
    if (const auto error = files->write()) return fail("list", *error, kRunFailed);
    return kDone;
}

void add_kind(Command& command, const char* name, const char* what, const char* lines,
              std::vector<Entry> (*entries)()) {
    const auto json = std::make_shared<std::string>();
    Command kind = command.add_command(name, what);
    kind.add_examples(lines);
    kind.option("--json", *json, "Write the list as JSON; - is standard output", {.shown = "FILE"});
    kind.when_chosen([json, entries] { return print_entries(entries(), *json); });
}

}  // namespace

void add_list(Command& program) {
    Command command =
        program.add_command("list", "List built-in profiles, examples and topologies");
    command.add_examples(R"(Examples:
  tulle list profiles            fabrics that a scenario can name
  tulle list examples            scenarios to begin with
  tulle list topologies --json - names of topologies, for programs

`tulle show NAME` prints one of them.)");
    add_kind(command, "profiles", "Fabrics that a scenario can name",
             "Examples:\n  tulle list profiles\n  tulle show ib-ndr       all its settings",
             profiles);
    add_kind(command, "examples", "Scenarios to begin with",
             "Examples:\n  tulle list examples\n  tulle show pfc-victim > mine.yaml", examples);
    add_kind(command, "topologies", "Topologies that can be built by name",
             "Examples:\n  tulle list topologies\n  tulle topo fat-tree:k=8  a summary of it",
             topologies);
}

}  // namespace tulle::cli
