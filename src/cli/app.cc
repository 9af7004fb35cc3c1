#include "cli/app.h"

#include <CLI/CLI.hpp>

#include "cli/exit_code.h"

namespace tulle::cli {

int run(int argc, const char* const* argv) {
    CLI::App app{"An InfiniBand and RoCE fabric in software"};
    app.require_subcommand(1);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? kDone : kInputWrong;
    }
    return kDone;
}

}  // namespace tulle::cli
