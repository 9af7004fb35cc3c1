#include "cli/run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/run/children.h"
#include "cli/run/device_files.h"
#include "cli/run/environment.h"
#include "cli/run/labels.h"
#include "cli/run/ready.h"
#include "cli/run/summary.h"
#include "cli/run/wire_options.h"
#include "live/pacing.h"
#include "live/plugin_file.h"

namespace tulle::cli {
namespace {

constexpr const char* kRunExamples = R"(Examples:
  tulle run ibv_devinfo -v                  the adapter that programs find
  tulle run --pair 'ib_write_bw' 'ib_write_bw localhost'
  tulle run ib_send_lat                     a server
  tulle run ib_send_lat localhost           its client, in another shell
  tulle run -n 4 ./my_program               four hosts, numbered by TULLE_RANK
  tulle run --loss 1% --seed 7 ./my_test    the same losses each time
  tulle run --faults rules.yaml --fault-log log.txt ./my_test
  tulle run --listen eth0 ib_write_bw       a server for other machines
  tulle run --pcap out.pcap --pair 'rping -s -C 3' 'rping -c -C 3 -a 127.0.0.1'

Options of `tulle run` come before the name of the program, optionally followed
by `--`. `man tulle-run` describes the adapter that programs find.)";

constexpr int kLookEveryMs = 10;
constexpr int kReadyMs = 20'000;
constexpr int kFarewellMs = 5'000;

struct RunOptions {
    uint32_t copies = 1;
    uint32_t devices = 1;
    uint32_t ports = 1;
    std::vector<std::string> pair;
    std::string link_layer = "ethernet";
    std::string listens;
    std::string congestion;
    std::vector<live::UdpAddress> addresses;  // parsed from `listens`
    bool is_shared = false;
    bool is_labelled = false;
    bool explains_calls = false;
    bool is_verbose = false;
    std::vector<std::string> command;
    WireOptions wire;
};

// A single command gets `exec`, so that the shell becomes the program and neither outlives the
// other.
std::vector<std::string> shell_for(const std::string& line) {
    const size_t word = line.find_first_not_of(' ');
    const std::string first =
        word == std::string::npos ? "" : line.substr(word, line.find(' ', word) - word);
    const bool is_simple = line.find_first_of(";&|<>()\n") == std::string::npos &&
                           first.find('=') == std::string::npos && !first.empty();
    return {"sh", "-c", is_simple ? "exec " + line : line};
}

class Run {
public:
    Run(const RunOptions& options, std::string folder, std::string wire)
        : options_(options),
          folder_(std::move(folder)),
          wire_(std::move(wire)),
          children_(is_several()) {
        const bool is_shown = isatty(STDOUT_FILENO) != 0 || isatty(STDERR_FILENO) != 0;
        if (options.is_labelled || (is_several() && is_shown)) labels_.emplace();
    }

    int copies();
    int pair();
    // False if part of the capture or the log could not be written.
    bool is_wire_whole() const { return files_.is_wire_whole(); }
    // Prints the port counters of all hosts.
    void tell_counters() const;

private:
    bool is_several() const { return !options_.pair.empty() || options_.copies > 1; }
    pid_t start(const std::vector<std::string>& command, uint32_t rank, uint32_t program);
    std::string name_of(uint32_t program) const;
    void explain(const Children::Ended& ended, const char* what_else = "");
    bool wait_until_ready(pid_t server, std::optional<Children::Ended>& ended);

    const RunOptions& options_;
    const std::string folder_;
    const std::string wire_;
    DeviceFiles files_;
    std::optional<Labels> labels_;
    std::vector<std::pair<pid_t, std::string>> names_;
    std::vector<std::string> trees_;  // folders of device files, by rank
    Children children_;
};

std::string Run::name_of(uint32_t program) const {
    if (!options_.pair.empty()) return program == 0 ? "server" : "client";
    return fmt::format("host {}", program);
}

// Says why a program ended, unless it is obvious: a single program's exit code is passed on, and a
// program that was asked to end needs no explanation.
void Run::explain(const Children::Ended& ended, const char* what_else) {
    if (ended.exit_code == kDone || ended.was_asked_to) return;
    if (ended.signal == 0 && !is_several()) return;
    std::string name = "program";
    for (const auto& [process, its_name] : names_)
        if (process == ended.process && is_several()) name = its_name;
    const std::string end =
        ended.signal != 0
            ? fmt::format(
                  "was ended by signal {} ({})", ended.signal,
                  sigdescr_np(ended.signal) != nullptr ? sigdescr_np(ended.signal) : "unknown")
            : fmt::format("ended with exit code {}", ended.exit_code);
    tell("tulle run: {}{} {}{}\n", is_several() && options_.pair.empty() ? "" : "the ", name, end,
         what_else);
}

pid_t Run::start(const std::vector<std::string>& command, uint32_t rank, uint32_t program) {
    RunIdentity who;
    who.rank = rank;
    who.size = options_.pair.empty() ? options_.copies : 2;
    who.link_layer = options_.link_layer;
    who.devices = options_.devices;
    who.ports = options_.ports;
    const bool is_ethernet = options_.link_layer == "ethernet";
    who.device_files =
        files_.add(rank, {is_ethernet, options_.devices, options_.ports}, options_.addresses);
    if (trees_.size() <= rank) trees_.resize(rank + 1);
    trees_[rank] = who.device_files;
    who.listens = options_.listens;
    auto variables = environment_for(folder_, who);
    if (options_.is_shared) variables.emplace_back("TULLE_SHARED", "1");
    if (!wire_.empty()) {
        variables.emplace_back("TULLE_WIRE", wire_ + files_.wire_setting());
        variables.emplace_back("TULLE_PROGRAM", std::to_string(program));
    }
    if (!options_.congestion.empty())
        variables.emplace_back("TULLE_CONGESTION", options_.congestion);
    if (options_.is_verbose) variables.emplace_back("TULLE_VERBOSE", "1");
    if (options_.explains_calls) variables.emplace_back("TULLE_EXPLAIN", "calls");
    std::string name = name_of(program);
    Labels::Ends ends = labels_ ? labels_->add(name) : Labels::Ends{};
    const pid_t process = children_.start(command, variables, std::move(ends));
    names_.emplace_back(process, std::move(name));
    return process;
}

void Run::tell_counters() const {
    for (size_t rank = 0; rank < trees_.size(); ++rank) {
        for (uint32_t device = 0; device < options_.devices && !trees_[rank].empty(); ++device) {
            const std::string counted = counted_in(live::counters_file_in(trees_[rank], device));
            tell("tulle run: host {}, {}: {}\n", rank, live::device_name_from_environment(device),
                 counted.empty() ? "nothing was counted" : counted);
        }
    }
}

// Returns the first exit code that is not 0.
int Run::copies() {
    for (uint32_t rank = 0; rank < options_.copies; ++rank)
        if (start(options_.command, rank, rank) < 0)
            return fail("run", {"cannot start another process"}, kRunFailed);
    int exit_code = kDone;
    while (children_.running() != 0) {
        const auto ended = children_.wait(-1);
        if (!ended) continue;
        explain(*ended);
        if (exit_code == kDone) exit_code = ended->exit_code;
    }
    return exit_code;
}

bool Run::wait_until_ready(pid_t server, std::optional<Children::Ended>& ended) {
    for (int waited = 0; waited < kReadyMs; waited += kLookEveryMs) {
        if (waits_for_connections(server)) return true;
        ended = children_.wait(kLookEveryMs);
        if (ended) return false;
    }
    return true;  // it may be ready in a way that is not visible
}

int Run::pair() {
    const pid_t server = start(shell_for(options_.pair[0]), 0, 0);
    std::optional<Children::Ended> ended;
    if (!wait_until_ready(server, ended)) {
        explain(*ended, ", before its client began");
        return ended->exit_code != kDone
                   ? ended->exit_code
                   : fail("run", {"the server ended before its client began"}, kRunFailed);
    }
    const pid_t client = start(shell_for(options_.pair[1]), 0, 1);
    int exit_code = kDone;
    bool client_ended = false;
    while (children_.running() != 0) {
        ended = children_.wait(client_ended ? kFarewellMs : -1);
        if (!ended) {
            tell("tulle run: the client has ended; the server has not, and is stopped\n");
            children_.stop_all();
            break;
        }
        explain(*ended);
        if (exit_code == kDone) exit_code = ended->exit_code;
        client_ended = client_ended || ended->process == client;
    }
    return exit_code;
}

// Programs may change their directory, so a file is passed by its absolute path.
std::optional<std::string> check_congestion(RunOptions& options) {
    if (options.congestion.empty()) return std::nullopt;
    const std::vector<std::string_view> names = live::Pacing::names();
    if (std::find(names.begin(), names.end(), options.congestion) != names.end())
        return std::nullopt;
    if (!transport::is_plugin_source(options.congestion))
        return fmt::format("--congestion {}: write one of {}, or a file, ./mine.so",
                           options.congestion, fmt::join(names, ", "));
    if (const auto loaded = live::load_plugin(options.congestion, live::Pacing::kUsualLine);
        !loaded)
        return "--congestion: " + loaded.error().message;
    const std::string file = live::plugin_file_of(options.congestion);
    const std::string rest = options.congestion.substr(file.size());
    options.congestion = std::filesystem::absolute(file).string() + rest;
    return std::nullopt;
}

// The error if the addresses cannot be listened on; nothing if they can.
std::optional<std::string> check_listening(RunOptions& options) {
    if (options.listens.empty())
        return options.congestion.empty() ? std::nullopt
                                          : std::optional<std::string>(
                                                "--congestion paces traffic to other machines; "
                                                "write --listen, too");
    if (options.link_layer != "ethernet")
        return "--listen is RoCE v2 on Ethernet and excludes --link-layer infiniband";
    if (options.devices != 1)
        return "--listen gives its addresses to one adapter and excludes --devices";
    if (options.ports != 1) return "--listen gives its addresses to one port and excludes --ports";
    const auto addresses = live::udp_addresses(options.listens);
    if (!addresses) return addresses.error().message;
    if (addresses->empty()) return "--listen: there is no address in '" + options.listens + "'";
    options.addresses = *addresses;
    return std::nullopt;
}

// `rest` is the program with its arguments, untouched. A leading word that looks like an option is
// an unknown option.
int run_programs(RunOptions& options, std::vector<std::string> rest) {
    if (!rest.empty() && rest.front() == "--") rest.erase(rest.begin());
    if (!rest.empty() && rest.front().starts_with('-'))
        return fail("run",
                    {fmt::format("there is no option '{}'; `tulle run --help` shows what can be "
                                 "written",
                                 rest.front())},
                    kInputWrong);
    options.command = std::move(rest);
    if (options.pair.empty() == options.command.empty())
        return fail(
            "run",
            {options.pair.empty() ? "name a program to run, such as `tulle run ./my_program`"
                                  : "--pair names both programs; remove the words after it"},
            kInputWrong);
    if (!options.pair.empty() && options.copies != 1)
        return fail("run", {"--pair starts two programs and excludes -n"}, kInputWrong);
    if (const auto problem = check_listening(options)) return fail("run", {*problem}, kInputWrong);
    if (const auto problem = check_congestion(options)) return fail("run", {*problem}, kInputWrong);
    const auto folder = library_folder();
    if (!folder) return fail("run", folder.error(), kRunFailed);
    const auto wire = wire_setting(options.wire, options.link_layer == "ethernet");
    if (!wire) return fail("run", wire.error(), kInputWrong);
    Run run(options, *folder, *wire);
    const int exit_code = options.pair.empty() ? run.copies() : run.pair();
    if (options.is_verbose) run.tell_counters();
    if (wire->empty() || run.is_wire_whole()) return exit_code;
    return fail("run", {"the capture or the fault log is not complete: it could not be written"},
                kRunFailed);
}

}  // namespace

void add_run(Command& program) {
    const auto options = std::make_shared<RunOptions>();
    Command command = program.add_command("run", "Run RDMA programs on this machine");
    command.add_examples(kRunExamples);
    command.option("-n", options->copies, "Start N copies, each as a host of its own",
                   {.shown = "N", .from = 1, .to = live::kMaxRank + 1});
    command.option("--pair", options->pair, "Start a server and, when it is ready, a client",
                   {.shown = "SERVER CLIENT", .words = 2});
    command.option("--link-layer", options->link_layer, "ethernet (RoCE) or infiniband",
                   {.shown = "LAYER", .choices = {"ethernet", "infiniband"}});
    command.option(
        "--listen", options->listens,
        "Exchange packets with other machines (RoCE v2, UDP port 4791) on these addresses "
        "or interfaces, separated by commas",
        {.shown = "ADDRESS|INTERFACE"});
    command.option("--congestion", options->congestion,
                   "Pace traffic to other machines by this algorithm: a name, or a plug-in",
                   {.shown = "NAME|FILE"});
    command.flag("--shared", options->is_shared,
                 "Connect to programs of other users that have this option, too");
    command.flag("--label", options->is_labelled,
                 "Put the name of the program before each line, as on a terminal");
    command.option("--devices", options->devices, "Give each host N adapters",
                   {.shown = "N", .from = 1, .to = live::kMaxDevices});
    command.option("--ports", options->ports, "Give each adapter N ports",
                   {.shown = "N", .from = 1, .to = live::kMaxPorts});
    command.flag("--explain", options->explains_calls,
                 "Also say why a call of a program was refused");
    command.flag("--verbose", options->is_verbose,
                 "Say which path data takes and why, and print port counters at the end");
    add_wire_options(command, options->wire);
    // All words from the program's name on belong to the program.
    command.when_chosen_with_program([options](std::vector<std::string> words) {
        return run_programs(*options, std::move(words));
    });
}

}  // namespace tulle::cli
