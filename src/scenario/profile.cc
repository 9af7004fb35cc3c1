#include "scenario/profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/words.h"
#include "scenario/fabric_overrides.h"

namespace tulle::scenario {
namespace {

constexpr KnownKey kProfileKeys[] = {
    {"name", "text", "the name of the fabric in reports"},
    {"description", "text", "one line for lists"},
    {"place", "between, inside or peer",
     "what it connects: servers, the GPUs inside one, or what another simulator models; `compare "
     "--fabrics all` takes those between servers"},
    {"like", "profile", "another profile, which this one changes"},
    {"beyond", "map of gpus and profile",
     "another profile for the inside of servers with more GPUs than this, such as {gpus: 8, "
     "profile: nvlink5-rack}"},
    {"fabric", "settings", "links, switches, loss, routes and marking"},
    {"hosts", "settings", "the transport of hosts and their congestion control"},
};

constexpr KnownKey kBeyondKeys[] = {{"gpus", "number", "of a server at most"},
                                    {"profile", "name or file", "of larger ones"}};

// A limit on chains of `like`: a profile that is like itself would never end.
constexpr int kMostSteps = 8;

bool is_path(std::string_view name) {
    const auto ends_with = [&](std::string_view end) {
        return name.size() > end.size() && name.substr(name.size() - end.size()) == end;
    };
    return name.find('/') != std::string_view::npos || ends_with(".yaml") || ends_with(".yml");
}

const BuiltInProfile* find_built_in(std::string_view name) {
    for (const BuiltInProfile& profile : built_in_profiles())
        if (profile.name == name) return &profile;
    return nullptr;
}

std::string unknown_profile(std::string_view name) {
    std::vector<std::string_view> names;
    for (const BuiltInProfile& profile : built_in_profiles()) names.push_back(profile.name);
    return fmt::format(
        "there is no profile '{}'; {}", name.substr(0, 60),
        base::did_you_mean(name, names,
                           "`tulle list profiles` lists them; a file is written with its path, "
                           "such as ./mine.yaml"));
}

// The text of a profile, and its file name for errors.
struct Source {
    std::string file;
    std::string text;
};

base::Result<Source> open(std::string_view name, std::string_view named_in,
                          const FileReader& files) {
    if (!is_path(name)) {
        const BuiltInProfile* profile = find_built_in(name);
        if (profile == nullptr) return base::Error{unknown_profile(name)};
        return Source{fmt::format("profiles/{}.yaml", name), std::string(profile->text)};
    }
    std::string path = resolve(named_in, name);
    auto text = files(path);
    if (!text) return text.error();
    return Source{std::move(path), std::move(*text)};
}

std::string text_of(const Value& root, std::string_view key, Notes& notes) {
    const Value* value = root.find(key);
    if (value == nullptr || !notes.expect_text(*value, key, "a sentence")) return "";
    return value->text;
}

void read_place(const Value& value, Profile& profile, Notes& notes) {
    constexpr std::pair<std::string_view, Place> kPlaces[] = {
        {"between", Place::between}, {"inside", Place::inside}, {"peer", Place::peer}};
    if (!notes.expect_text(value, "place", "between")) return;
    const auto* found = std::ranges::find(kPlaces, value.text, [](auto& one) { return one.first; });
    if (found == std::end(kPlaces))
        return notes.fail(value.line, fmt::format("place is '{}'; write between, inside or peer",
                                                  value.text.substr(0, 60)));
    profile.place = found->second;
}

void read_beyond(const Value& map, Profile& profile, Notes& notes) {
    if (!notes.expect_map(map, "beyond", kBeyondKeys)) return;
    const Value* gpus = map.find("gpus");
    const Value* larger = map.find("profile");
    if (gpus == nullptr || larger == nullptr)
        return notes.fail(map.line, "beyond: write {gpus: 8, profile: nvlink5-rack} or so");
    uint64_t most = 0;
    if (const Complaint wrong = detail::not_a_number(*gpus, 1, 1 << 20, most))
        return notes.fail(gpus->line, fmt::format("gpus: {}", *wrong));
    if (!notes.expect_text(*larger, "profile", "nvlink5-rack")) return;
    profile.most_gpus = static_cast<uint32_t>(most);
    profile.larger = larger->text;
}

void read_source(const Source& source, const FileReader& files, int steps, Profile& profile,
                 Notes& outer);

void read_named(std::string_view name, uint32_t line, const FileReader& files, int steps,
                Profile& profile, Notes& notes) {
    if (steps == kMostSteps)
        return notes.fail(line, "profiles are like one another in a circle, or too deep");
    // A path in a built-in text has no folder; it is used as it is.
    const auto source = open(name, notes.file(), files);
    if (!source) return notes.fail(line, source.error().message);
    read_source(*source, files, steps, profile, notes);
}

void read_source(const Source& source, const FileReader& files, int steps, Profile& profile,
                 Notes& outer) {
    const auto root = parse_tree(source.text, source.file);
    if (!root) return outer.adopt(root.error());
    Notes notes(source.file);
    if (notes.expect_map(*root, "a profile", kProfileKeys)) {
        if (const Value* like = root->find("like");
            like && notes.expect_text(*like, "like", "ib-ndr"))
            read_named(like->text, like->line, files, steps + 1, profile, notes);
        const auto has = [&](std::string_view key) { return root->find(key) != nullptr; };
        if (!has("like") && !has("fabric") && !has("hosts"))
            notes.fail(1,
                       "a profile without settings; write like: ib-ndr, or settings of fabric "
                       "and hosts");
        profile.name = text_of(*root, "name", notes);
        profile.description = text_of(*root, "description", notes);
        if (const Value* place = root->find("place")) read_place(*place, profile, notes);
        if (const Value* map = root->find("beyond")) read_beyond(*map, profile, notes);
        for (const std::string_view section : {"fabric", "hosts"})
            if (const Value* map = root->find(section))
                apply_section(section, *map, profile.target, notes);
        if (const Value* fabric = root->find("fabric"))
            for (const Key& key : fabric->keys)
                if (is_override_list(key.name))
                    notes.fail(key.line, fmt::format("a profile cannot have {}; write them in a "
                                                     "scenario",
                                                     key.name));
        for (const std::string_view section : {"fabric", "hosts"})
            if (const Value* map = root->find(section))
                if (!notes.failed()) check_used(section, *map, profile.target, notes, true);
        if (!notes.failed())
            if (const Complaint wrong = check_together(profile.target))
                notes.fail(std::max(1u, line_of(*wrong, *root)), *wrong);
    }
    if (notes.failed()) outer.adopt(notes.error());
}

}  // namespace

Complaint judge_profile_name(std::string_view name) {
    if (is_path(name) || find_built_in(name) != nullptr) return std::nullopt;
    return unknown_profile(name);
}

std::vector<std::string> networks_between_servers() {
    std::vector<std::string> names;
    const FileReader none = [](const std::string& path) -> base::Result<std::string> {
        return base::Error{path + " is not compiled in"};
    };
    for (const BuiltInProfile& known : built_in_profiles())
        if (const auto profile = read_profile(known.name, none);
            profile && profile->place == Place::between)
            names.emplace_back(known.name);
    return names;
}

std::span<const KnownKey> profile_keys() {
    return kProfileKeys;
}

Profile read_profile(std::string_view name, uint32_t line, const FileReader& files, Notes& notes) {
    Profile profile;
    read_named(name, line, files, 0, profile, notes);
    if (profile.name.empty()) profile.name = name;
    return profile;
}

base::Result<Profile> read_profile(std::string_view name, const FileReader& files) {
    Profile profile;
    const auto source = open(name, "", files);
    if (!source) return source.error();
    Notes notes(source->file);
    read_source(*source, files, 0, profile, notes);
    if (notes.failed()) return notes.error();
    if (profile.name.empty()) profile.name = name;
    return profile;
}

}  // namespace tulle::scenario
