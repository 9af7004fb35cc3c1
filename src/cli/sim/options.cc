#include "cli/sim/options.h"

#include "cli/command.h"

namespace tulle::cli {

void add_sim_input(Command& command, SimInput& input) {
    command.option("SCENARIO", input.scenario, "The scenario to simulate; - is standard input", {});
    command.option("--hpcc", input.hpcc_config, "Simulate a config.txt of HPCC's simulator",
                   {.shown = "CONFIG"});
    command.option("--cm", input.connection_matrix, "Simulate a connection matrix of htsim",
                   {.shown = "FILE"});
    command.option("--chakra", input.chakra,
                   "Simulate execution traces PREFIX.0.et, PREFIX.1.et, ...", {.shown = "PREFIX"});
    command.option("--simai", input.simai, "Simulate a workload file of SimAI or AICB",
                   {.shown = "FILE"});
    command.option("--profile", input.profile, "Use this fabric instead of the scenario's",
                   {.shown = "P"});
    command.option("--topology", input.topology, "Use this topology, for example fat-tree:k=8",
                   {.shown = "T"});
    command.option("--paths", input.paths, "Read the paths of flows, as lists of nodes",
                   {.shown = "FILE"});
    command.option("--seed", input.seed, "Seed of all random draws", {.shown = "N"});
    command.option("--congestion", input.congestion,
                   "Use this congestion control: a name, or a file such as ./mine.so",
                   {.shown = "C"});
    command.option("--set", input.set, "Change a setting of the scenario", {.shown = "KEY=VALUE"});
}

}  // namespace tulle::cli
