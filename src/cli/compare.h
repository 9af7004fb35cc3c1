// `tulle compare`: the same work on several fabrics, side by side.
#pragma once

namespace CLI {
class App;
}

namespace tulle::cli {

// Adds the subcommand to the program. When it was chosen, `exit_code` says how it ended.
void add_compare(CLI::App& app, int& exit_code);

}  // namespace tulle::cli
