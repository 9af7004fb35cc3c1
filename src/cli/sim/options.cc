#include "cli/sim/options.h"

#include "cli/command.h"

namespace tulle::cli {

void add_sim_input(Command& command, SimInput& input) {
    command.option("SCENARIO", input.scenario, "What to simulate; - is standard input", {});
    command.option("--hpcc", input.hpcc_config, "Instead: a config.txt of HPCC's simulator",
                   {.shown = "CONFIG"});
    command.option("--cm", input.connection_matrix, "Instead: a connection matrix of htsim",
                   {.shown = "FILE"});
    command.option("--chakra", input.chakra, "Instead: execution traces, PREFIX.0.et and so on",
                   {.shown = "PREFIX"});
    command.option("--simai", input.simai, "Instead: a workload file of SimAI or AICB",
                   {.shown = "FILE"});
    command.option("--profile", input.profile, "Another fabric than the scenario says",
                   {.shown = "P"});
    command.option("--topology", input.topology, "Another topology, such as fat-tree:k=8",
                   {.shown = "T"});
    command.option("--paths", input.paths, "Paths that flows take, by the nodes on them",
                   {.shown = "FILE"});
    command.option("--seed", input.seed, "Of all that is drawn by chance", {.shown = "N"});
    command.option("--congestion", input.congestion,
                   "Another congestion control, by name or as a file, ./mine.so", {.shown = "C"});
    command.option("--set", input.set, "Another value for a setting of the scenario",
                   {.shown = "KEY=VALUE"});
}

}  // namespace tulle::cli
