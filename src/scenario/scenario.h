// A scenario as text: topology, profile, settings that differ from it, work and faults. This is the
// public interface of the room; docs/SCENARIO.md describes the language.
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
#include "scenario/stand_ins.h"
#include "scenario/tree.h"
#include "sim/setup.h"

namespace tulle::scenario {

// Settings of a command line that replace those of the scenario. They are the last layer: settings
// of the file that they make useless are not reported.
struct Overrides {
    std::string profile;
    std::string topology;
    std::optional<uint64_t> seed;
    std::vector<std::pair<std::string, std::string>> set;  // "fabric.pfc.xoff", "100KB"
    std::optional<size_t> fabric;  // of the list `fabrics`: its profile and settings
    // Settings without effect are no errors: one command line may serve several fabrics.
    bool unused_is_fine = false;
    uint64_t most_tasks = kMostTasks;  // in a program; larger programs are refused
    bool skips = false;                // as in the setup; jobs are generated where possible
    bool checks_skipping = false;
    uint64_t most_packets = kMostPackets;  // with `skips`: more are joined in bursts
    bool reuses = true;  // a simulated collective stands for others with the same result

    bool any() const {
        return !profile.empty() || !topology.empty() || seed || !set.empty() || fabric;
    }
};

// One of the fabrics that a scenario is compared on.
struct FabricChoice {
    std::string name;  // name in reports
    std::string profile;
};

// The list `fabrics` of a scenario; empty if it has none.
base::Result<std::vector<FabricChoice>> read_fabrics(std::string_view text, std::string_view file,
                                                     const FileReader& files);

// Whether a scenario lists fabrics to compare, but no profile for a single run.
bool only_compares(std::string_view text, std::string_view file, const FileReader& files);

// `file` is the path of the text; paths in it are relative to its folder. Errors are one sentence
// that begins with "file:line: ".
base::Result<sim::Setup> read_scenario(std::string_view text, std::string_view file,
                                       const FileReader& files, const Overrides& overrides = {});

// Reads a connection matrix of htsim, to run on a topology such as "fat-tree:k=8" with a profile.
base::Result<sim::Setup> from_connection_matrix(std::string_view text, std::string_view file,
                                                std::string_view topology, std::string_view profile,
                                                const FileReader& files);

// The top-level keys of a scenario.
std::span<const KnownKey> scenario_keys();
std::span<const KnownKey> topology_keys();
std::span<const KnownKey> fabric_choice_keys();

// Sets the initial rate of congestion control to that of each host's link. Returns a sentence if
// the algorithm's slowest rate is faster than that. For all readers.
std::optional<std::string> set_line_rates(sim::Setup& setup);

}  // namespace tulle::scenario
