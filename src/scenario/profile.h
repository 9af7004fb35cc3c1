// A profile: a named fabric with its hosts. The built-in profiles are the files of profiles/,
// compiled in.
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

// What the fabric connects.
enum class Place : uint8_t {
    between,  // servers
    inside,   // the GPUs of a server
    peer,     // a fabric that another simulator models
};

struct Profile {
    std::string name;
    std::string description;
    Place place = Place::between;
    Target target;
    // Servers with more GPUs than this need the other profile; 0: there is no other.
    uint32_t most_gpus = 0;
    std::string larger;
};

// Whether a word can name a profile: a built-in one, or a path, which is not opened.
Complaint judge_profile_name(std::string_view name);

// The built-in profiles that connect servers, by name.
std::vector<std::string> networks_between_servers();

// The keys of a profile file.
std::span<const KnownKey> profile_keys();

// Reads a profile by its built-in name, or by a path (with a slash, or ending in .yaml) that
// `files` opens.
base::Result<Profile> read_profile(std::string_view name, const FileReader& files);

// The same for a scenario that names it. If the name is wrong, the error has the scenario's line.
Profile read_profile(std::string_view name, uint32_t line, const FileReader& files, Notes& notes);

}  // namespace tulle::scenario
