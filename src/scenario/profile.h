// A profile: a fabric and its hosts by name. The built-in ones are the files of profiles/, which
// are compiled in.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scenario/files.h"
#include "scenario/notes.h"
#include "scenario/settings.h"

namespace tulle::scenario {

struct BuiltInProfile {
    std::string_view name;
    std::string_view text;
};

// By name.
std::span<const BuiltInProfile> built_in_profiles();

// What it is a fabric of.
enum class Place : uint8_t {
    between,  // servers
    inside,   // a server: its GPUs
    peer,     // what another simulator models
};

struct Profile {
    std::string name;
    std::string description;
    Place place = Place::between;
    Target target;
    // Inside servers with more GPUs than this the other profile holds; 0: there is none.
    uint32_t most_gpus = 0;
    std::string larger;
};

// Those that connect servers, by name.
std::vector<std::string> networks_between_servers();

// What a profile file may say.
std::span<const KnownKey> profile_keys();

// A built-in name, or a path (with a slash, or ending in .yaml), which `files` opens.
base::Result<Profile> read_profile(std::string_view name, const FileReader& files);

// The same for a scenario that names it: where the name is wrong, the scenario's line is told.
Profile read_profile(std::string_view name, uint32_t line, const FileReader& files, Notes& notes);

}  // namespace tulle::scenario
