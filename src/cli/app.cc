#include "cli/app.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <exception>

#include "cli/about.h"
#include "cli/command.h"
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

constexpr const char* kExamples = R"(Examples:
  tulle compare                   the same work on several fabrics, side by side
  tulle sim incast.yaml           one run of a scenario, in detail
  tulle run ibv_devinfo -v        a program that needs an RDMA adapter
  tulle list profiles             the fabrics that are built in
  tulle decode trace.pcap         what is in a capture, packet by packet
  tulle topo fat-tree:k=8         hosts, switches and cables of a fabric
  tulle decode --help             what else `decode` can do

`tulle COMMAND --help` explains a command, `man tulle-COMMAND` every detail of it.
Exit codes: 0 done, 1 the run failed, 2 the command line or a file is wrong.)";

void add_commands(Command& program) {
    add_compare(program);
    add_sim(program);
    add_why(program);
    add_decode(program);
    add_list(program);
    add_run(program);
    add_doctor(program);
    add_topo(program);
}

}  // namespace

int run(int argc, const char* const* argv) {
    // A reader that goes away shows as a failed write (output.h), so that files are tidied up.
    std::signal(SIGPIPE, SIG_IGN);
    remember_command(argc, argv);
    try {
        return run_program({"tulle", kDescription, kExamples, "tulle " TULLE_VERSION}, add_commands,
                           argc, argv);
    } catch (const std::exception& error) {
        fmt::print(stderr, "tulle: {}\n", error.what());
    }
    return kRunFailed;
}

}  // namespace tulle::cli
