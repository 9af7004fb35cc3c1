// A scenario: a topology, a profile, what differs from it, work and faults, as text. The public
// face of this room; docs/SCENARIO.md describes the language.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "scenario/files.h"
#include "scenario/jobs.h"
#include "scenario/notes.h"
#include "scenario/tree.h"
#include "sim/setup.h"

namespace tulle::scenario {

// What a command line says instead of the scenario. It counts as the last layer: what it makes
// useless in the file is not complained of.
struct Overrides {
    std::string profile;
    std::string topology;
    std::optional<uint64_t> seed;
    std::vector<std::pair<std::string, std::string>> set;  // "fabric.pfc.xoff", "100KB"
    std::optional<size_t> fabric;  // of the scenario's list `fabrics`: its profile and settings
    // What has no effect is no mistake: one command line for several fabrics.
    bool unused_is_fine = false;
    uint64_t most_tasks = kMostTasks;  // of programs; larger ones are refused
    bool skips = false;                // as the setup has it; jobs are generated where they can be
    bool checks_skipping = false;

    bool any() const {
        return !profile.empty() || !topology.empty() || seed || !set.empty() || fabric;
    }
};

// A fabric that a scenario is to be compared on.
struct FabricChoice {
    std::string name;  // as reports call it
    std::string profile;
};

// The list `fabrics` of a scenario; empty where it has none.
base::Result<std::vector<FabricChoice>> read_fabrics(std::string_view text, std::string_view file,
                                                     const FileReader& files);

// `file` is the path of the text: other files are named from its folder. Errors are one sentence
// that begins with "file:line: ".
base::Result<sim::Setup> read_scenario(std::string_view text, std::string_view file,
                                       const FileReader& files, const Overrides& overrides = {});

// A connection matrix of htsim on a topology such as "fat-tree:k=8", with a profile.
base::Result<sim::Setup> from_connection_matrix(std::string_view text, std::string_view file,
                                                std::string_view topology, std::string_view profile,
                                                const FileReader& files);

// What may stand at the top of a scenario.
std::span<const KnownKey> scenario_keys();
std::span<const KnownKey> topology_keys();
std::span<const KnownKey> fabric_choice_keys();

// The rates that congestion control starts from, those of the hosts' own links; or a sentence if
// its slowest rate is faster. For all readers.
std::optional<std::string> set_line_rates(sim::Setup& setup);

}  // namespace tulle::scenario
