#include "cli/app.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>

#include "cli/decode.h"
#include "cli/exit_code.h"

namespace tulle::cli {
namespace {

constexpr const char* kDescription =
    "Tulle is an InfiniBand and RoCE fabric in software: adapters, links, switches, subnet\n"
    "manager and verbs, without hardware.";

constexpr const char* kFooter = R"(Examples:
  tulle decode trace.pcap         what is in a capture, packet by packet
  tulle decode --help             what else `decode` can do

`tulle COMMAND --help` explains a command, `man tulle-COMMAND` every detail of it.
Exit codes: 0 done, 1 the run failed, 2 the command line or a file is wrong.)";

// CLI11 reports --help and --version as errors of their own with exit code 0.
int report(const CLI::App& app, const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error) == 0 ? kDone : kRunFailed;
    const auto chosen = app.get_subcommands();
    const std::string command = chosen.empty() ? "tulle" : "tulle " + chosen.front()->get_name();
    fmt::print(stderr, "{}: {}; `{} --help` shows what can be written\n", command, error.what(),
               command);
    return kInputWrong;
}

int parse_and_run(int argc, const char* const* argv) {
    int exit_code = kDone;
    CLI::App app{kDescription, "tulle"};
    app.footer(kFooter);
    app.set_version_flag("--version", "tulle " TULLE_VERSION);
    app.require_subcommand(1);
    add_decode(app, exit_code);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return report(app, error);
    }
    return exit_code;
}

}  // namespace

int run(int argc, const char* const* argv) {
    // A reader that goes away shows as a failed write (output.h), so that files are tidied up.
    std::signal(SIGPIPE, SIG_IGN);
    try {
        return parse_and_run(argc, argv);
    } catch (const std::exception& error) {
        fmt::print(stderr, "tulle: {}\n", error.what());
    }
    return kRunFailed;
}

}  // namespace tulle::cli
