#include "scenario/set.h"

#include <fmt/format.h>

#include "scenario/edits.h"
#include "scenario/host_overrides.h"
#include "scenario/scenario.h"
#include "scenario/settings.h"

namespace tulle::scenario {
namespace {

constexpr std::string_view kSections[] = {"fabric", "hosts"};

Value tree_of(const std::vector<std::pair<std::string, std::string>>& settings, Notes& notes) {
    Value root;
    root.kind = Value::Kind::map;
    for (const auto& [path, text] : settings) {
        const std::string_view section = std::string_view(path).substr(0, path.find('.'));
        if (section == path || (section != kSections[0] && section != kSections[1]))
            notes.fail(1, fmt::format("{}: files of other programs have settings of fabric and "
                                      "hosts alone; write one of those",
                                      path.substr(0, 60)));
        auto value = parse_tree(text, notes.file());
        if (!value) notes.adopt(value.error());
        if (notes.failed()) return root;
        Value& place = value_at(root, path);
        if (place.kind != Value::Kind::nothing)
            notes.fail(1, fmt::format("{}: it is given twice", path));
        place = std::move(*value);
    }
    return root;
}

}  // namespace

std::optional<base::Error> set_settings(
    const std::vector<std::pair<std::string, std::string>>& settings, sim::Setup& setup) {
    if (settings.empty()) return std::nullopt;
    Notes notes{std::string(kCommandLine)};
    const Value root = tree_of(settings, notes);
    Target target{setup.fabric, setup.host};
    for (const std::string_view section : kSections)
        if (const Value* map = root.find(section); map != nullptr && !notes.failed())
            apply_section(section, without_overrides(*map), target, notes);
    for (const std::string_view section : kSections)
        if (const Value* map = root.find(section); map != nullptr && !notes.failed())
            check_used(section, without_overrides(*map), target, notes);
    if (notes.failed()) return notes.error();
    if (const Complaint wrong = check_together(target)) notes.fail(1, *wrong);
    setup.fabric = target.fabric;
    setup.host = target.host;
    if (const Value* hosts = root.find("hosts"); hosts != nullptr && !notes.failed())
        if (const Value* list = hosts->find(kHostOverrides))
            read_host_overrides(*list, notes, setup);
    if (const Complaint wrong = set_line_rates(setup)) notes.fail(1, *wrong);
    if (notes.failed()) return notes.error();
    return std::nullopt;
}

}  // namespace tulle::scenario
