#include "cli/app.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>

#include "cli/about.h"
#include "cli/compare.h"
#include "cli/decode.h"
#include "cli/doctor.h"
#include "cli/exit_code.h"
#include "cli/list.h"
#include "cli/run.h"
#include "cli/sim.h"
#include "cli/topo.h"
#include "cli/why.h"

namespace tulle::cli {
namespace {

constexpr const char* kDescription =
    "Tulle is an InfiniBand and RoCE fabric in software: adapters, links, switches, subnet\n"
    "manager and verbs, without hardware.";

constexpr const char* kFooter = R"(Examples:
  tulle compare                   the same work on several fabrics, side by side
  tulle sim incast.yaml           one run of a scenario, in detail
  tulle run ibv_devinfo -v        a program that needs an RDMA adapter
  tulle list profiles             the fabrics that are built in
  tulle decode trace.pcap         what is in a capture, packet by packet
  tulle topo fat-tree:k=8         hosts, switches and cables of a fabric
  tulle decode --help             what else `decode` can do

`tulle COMMAND --help` explains a command, `man tulle-COMMAND` every detail of it.
Exit codes: 0 done, 1 the run failed, 2 the command line or a file is wrong.)";

// What is wrong where no command was chosen: CLI11 calls a word that is no command a missing one.
std::string no_command(const CLI::App& app, int argc, const char* const* argv) {
    std::string known;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
        known.append(known.empty() ? "" : ", ").append(command->get_name());
    for (int i = 1; i < argc; ++i)
        if (argv[i][0] != '-')
            return fmt::format("there is no command '{}'; the commands are: {}", argv[i], known);
    if (argc > 1) return fmt::format("there is no option '{}'", argv[1]);
    return fmt::format("name a command: {}", known);
}

// CLI11 reports --help and --version as errors of their own with exit code 0.
int report(const CLI::App& app, const CLI::ParseError& error, int argc, const char* const* argv) {
    if (error.get_exit_code() == 0) return app.exit(error) == 0 ? kDone : kRunFailed;
    const auto chosen = app.get_subcommands();
    const std::string command = chosen.empty() ? "tulle" : "tulle " + chosen.front()->get_name();
    const std::string what = chosen.empty() ? no_command(app, argc, argv) : error.what();
    fmt::print(stderr, "{}: {}; `{} --help` shows what can be written\n", command, what, command);
    return kInputWrong;
}

int parse_and_run(int argc, const char* const* argv) {
    int exit_code = kDone;
    CLI::App app{kDescription, "tulle"};
    app.footer(kFooter);
    app.set_version_flag("--version", "tulle " TULLE_VERSION);
    app.require_subcommand(1);
    add_compare(app, exit_code);
    add_sim(app, exit_code);
    add_why(app, exit_code);
    add_decode(app, exit_code);
    add_list(app, exit_code);
    add_run(app, exit_code);
    add_doctor(app, exit_code);
    add_topo(app, exit_code);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return report(app, error, argc, argv);
    }
    return exit_code;
}

}  // namespace

int run(int argc, const char* const* argv) {
    // A reader that goes away shows as a failed write (output.h), so that files are tidied up.
    std::signal(SIGPIPE, SIG_IGN);
    remember_command(argc, argv);
    try {
        return parse_and_run(argc, argv);
    } catch (const std::exception& error) {
        fmt::print(stderr, "tulle: {}\n", error.what());
    }
    return kRunFailed;
}

}  // namespace tulle::cli
