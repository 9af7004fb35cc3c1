#include "cli/sim/options.h"

#include <CLI/CLI.hpp>

namespace tulle::cli {

void add_sim_input(CLI::App& command, SimInput& input) {
    command.add_option("SCENARIO", input.scenario, "What to simulate; - is standard input")
        ->option_text(" ");
    command.add_option("--hpcc", input.hpcc_config, "Instead: a config.txt of HPCC's simulator")
        ->option_text("CONFIG");
    command.add_option("--cm", input.connection_matrix, "Instead: a connection matrix of htsim")
        ->option_text("FILE");
    command.add_option("--profile", input.profile, "Another fabric than the scenario says")
        ->option_text("P");
    command.add_option("--topology", input.topology, "Another topology, such as fat-tree:k=8")
        ->option_text("T");
    command.add_option("--paths", input.paths, "Paths that flows take, by the nodes on them")
        ->option_text("FILE");
    command.add_option("--seed", input.seed, "Of all that is drawn by chance")->option_text("N");
    command.add_option("--set", input.set, "Another value for a setting of the scenario")
        ->option_text("KEY=VALUE")
        ->allow_extra_args(false);
}

}  // namespace tulle::cli
