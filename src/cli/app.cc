#include "cli/app.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "cli/about.h"
#include "cli/command.h"
#include "cli/compare.h"
#include "cli/decode.h"
#include "cli/doctor.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/list.h"
#include "cli/model.h"
#include "cli/output.h"
#include "cli/run.h"
#include "cli/show.h"
#include "cli/sim.h"
#include "cli/subnet.h"
#include "cli/topo.h"
#include "cli/why.h"

namespace tulle::cli {
namespace {

constexpr const char* kDescription =
    "Tulle is an InfiniBand and RoCE fabric in software: clusters simulated packet by\n"
    "packet, and RDMA programs that run without an adapter.";

constexpr const char* kProgramExamples = R"(Examples:
  tulle compare                   the same work on several fabrics, side by side
  tulle show incast > incast.yaml an example of a scenario
  tulle sim incast.yaml           one run of a scenario, in detail
  tulle run ibv_devinfo -v        a program that needs an RDMA adapter
  tulle list profiles             the fabrics that are built in
  tulle decode trace.pcap         what is in a capture, packet by packet
  tulle topo fat-tree:k=8         hosts, switches and cables of a fabric
  tulle subnet check fabric.txt   what is wrong with a subnet and its routes
  tulle model llama3-8b --tp 8    memory and traffic of training a model
  tulle help decode               what else `decode` can do

`tulle help COMMAND` explains a command, `man tulle-COMMAND` gives every detail.
Exit codes: 0 done, 1 the run failed, 2 the command line or a file is wrong.)";

std::string version() {
#ifdef __clang__
    const std::string_view compiler = __VERSION__;
#else
    const std::string_view compiler = "g++ " __VERSION__;
#endif
    return fmt::format("tulle " TULLE_VERSION " (commit " TULLE_COMMIT ", {})", compiler);
}

void add_commands(Command& program) {
    add_compare(program);
    add_sim(program);
    add_why(program);
    add_decode(program);
    add_list(program);
    add_show(program);
    add_run(program);
    add_doctor(program);
    add_topo(program);
    add_subnet(program);
    add_model(program);
}

// A standard stream that the caller closed stays unusable: otherwise the next file that is opened
// would take its number, and reports would be written into that file.
void keep_closed_streams_closed() {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (::fcntl(stream, F_GETFD) < 0)
            ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

}  // namespace

int run(int argc, const char* const* argv) {
    keep_closed_streams_closed();
    // Without SIGPIPE a closed pipe is a failed write (output.h), so temporary files are removed.
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);  // the same for a file that grows too large
    end_cleanly_by_signals();
    remember_command(argc, argv);
    try {
        return run_program({"tulle", kDescription, kProgramExamples, version()}, add_commands, argc,
                           argv);
    } catch (const std::bad_alloc&) {
        tell(
            "tulle: there is not enough memory; take fewer hosts or less work, or raise the "
            "limit (ulimit -v)\n");
    } catch (const std::exception& error) {
        tell("tulle: {}\n", printable(error.what()));
    }
    return kRunFailed;
}

}  // namespace tulle::cli
