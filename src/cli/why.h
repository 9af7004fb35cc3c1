// `tulle why`: what held a run up, proved by running without it.
#pragma once

namespace CLI {
class App;
}

namespace tulle::cli {

void add_why(CLI::App& app, int& exit_code);

}  // namespace tulle::cli
