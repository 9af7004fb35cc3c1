// `tulle decode`: prints and checks captured RoCE and InfiniBand packets.
#pragma once

namespace CLI {
class App;
}

namespace tulle::cli {

// Adds the subcommand to the program. When it was chosen, `exit_code` says how it ended.
void add_decode(CLI::App& app, int& exit_code);

}  // namespace tulle::cli
