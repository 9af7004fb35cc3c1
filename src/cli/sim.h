// `tulle sim`: one run of a scenario in virtual time, in detail.
#pragma once

namespace CLI {
class App;
}

namespace tulle::cli {

// Adds the subcommand to the program. When it was chosen, `exit_code` says how it ended.
void add_sim(CLI::App& app, int& exit_code);

}  // namespace tulle::cli
