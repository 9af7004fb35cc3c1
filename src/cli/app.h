// The program `tulle`: subcommands, help, errors and exit codes.
#pragma once

namespace tulle::cli {

// Runs the command line and returns the exit code (exit_code.h). Throws nothing.
int run(int argc, const char* const* argv);

}  // namespace tulle::cli
