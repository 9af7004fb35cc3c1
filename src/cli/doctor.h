// `tulle doctor`: looks at the machine and says what of `tulle run` will work on it.
#pragma once

namespace CLI {
class App;
}

namespace tulle::cli {

// Adds the subcommand to the program. When it was chosen, `exit_code` says how it ended.
void add_doctor(CLI::App& app, int& exit_code);

}  // namespace tulle::cli
