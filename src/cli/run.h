// `tulle run`: runs RDMA programs on this machine, as if it had an adapter.
#pragma once

namespace CLI {
class App;
}

namespace tulle::cli {

// Adds the subcommand to the program. When it was chosen, `exit_code` says how it ended.
void add_run(CLI::App& app, int& exit_code);

}  // namespace tulle::cli
