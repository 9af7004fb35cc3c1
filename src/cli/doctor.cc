#include "cli/doctor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/doctor_wire.h"
#include "cli/exit_code.h"
#include "cli/finding.h"
#include "cli/output.h"
#include "cli/result_files.h"
#include "cli/run/environment.h"
#include "cli/run/imports.h"
#include "live/meeting.h"
#include "live/shared_memory.h"

namespace tulle::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPage = 4096;

Finding look_for_libraries() {
    const auto folder = library_folder();
    if (!folder) return {Finding::Kind::fails, folder.error().message};
    return {Finding::Kind::works, "the libraries are in " + *folder};
}

Finding look_at_memory() {
    const auto memory = live::SharedMemory::create(kPage, live::SharedMemory::Peers::read);
    if (memory) return {Finding::Kind::works, "processes can share anonymous memory"};
    return {Finding::Kind::fails,
            fmt::format("no anonymous shared memory: memfd_create says {}", std::strerror(errno))};
}

Finding look_at_sockets() {
    const live::Realm world{"doctor-" + std::to_string(getpid()), geteuid()};
    const auto name = live::take_name(world, "try");
    if (name) return {Finding::Kind::works, "processes can find each other by abstract sockets"};
    return {Finding::Kind::fails,
            fmt::format("no abstract Unix sockets: {}", std::strerror(errno))};
}

// Tests on a child whether process_vm_readv works between programs of this user.
Finding look_at_reach() {
    const uint64_t word = 0x7475'6c6c'65;
    int ready[2];
    if (pipe2(ready, O_CLOEXEC) != 0)
        return {Finding::Kind::helps, "cannot create a pipe for the test"};
    const pid_t child = fork();
    if (child == 0) {
        close(ready[1]);
        char end = 0;
        const bool done = read(ready[0], &end, 1) >= 0;  // waits until the parent has read
        _exit(done ? 0 : 1);
    }
    uint64_t found = 0;
    const iovec here{&found, sizeof found};
    const iovec there{const_cast<uint64_t*>(&word), sizeof found};
    const bool reached =
        process_vm_readv(child, &here, 1, &there, 1, 0) == sizeof found && found == word;
    const int error = errno;
    close(ready[1]);
    close(ready[0]);
    waitpid(child, nullptr, 0);
    if (reached)
        return {Finding::Kind::works, "WRITEs and READs go the short way, from memory to memory"};
    return {Finding::Kind::helps,
            fmt::format("WRITEs and READs take the long way, through shared memory: "
                        "process_vm_readv says {} (a container may need CAP_SYS_PTRACE or another "
                        "seccomp profile)",
                        std::strerror(error))};
}

Finding look_at_processors() {
    const long count = sysconf(_SC_NPROCESSORS_ONLN);
    if (count >= 2)
        return {Finding::Kind::works, fmt::format("{} processors: a pair can run at once", count)};
    return {Finding::Kind::helps,
            "one processor: programs that poll take turns, and the scheduler sets latencies"};
}

Finding look_for_adapters() {
    std::error_code error;
    std::string names;
    for (fs::directory_iterator it("/sys/class/infiniband", error), end; !error && it != end;
         it.increment(error))
        names.append(names.empty() ? "" : ", ").append(it->path().filename().string());
    if (names.empty()) return {Finding::Kind::works, "the machine has no RDMA adapter of its own"};
    return {Finding::Kind::works, "programs will not see the machine's own adapters: " + names};
}

constexpr const char* word_of(Finding::Kind kind) {
    return kind == Finding::Kind::works ? "yes" : kind == Finding::Kind::helps ? "slow" : "no";
}

std::string json_of(const std::vector<Finding>& findings, bool works) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Finding& finding : findings)
        list.push_back({{"answer", word_of(finding.kind)}, {"what", finding.what}});
    return nlohmann::ordered_json{{"works", works}, {"findings", list}}.dump(2) + "\n";
}

// Prints the findings, and writes them to a file if one is named.
int print_findings(const std::vector<Finding>& findings, const std::string& sum,
                   const std::string& json) {
    const bool works = std::none_of(findings.begin(), findings.end(), [](const Finding& finding) {
        return finding.kind == Finding::Kind::fails;
    });
    auto files = ResultFiles::open({{json, [&] { return json_of(findings, works); }}});
    if (!files) return fail("doctor", files.error(), kInputWrong);
    if (!files->takes_standard_output()) {
        std::string text;
        for (const Finding& finding : findings)
            text += fmt::format("{:<4}  {}\n", word_of(finding.kind), finding.what);
        if (!sum.empty()) text += fmt::format("\n{}\n", sum);
        if (const int code = print_all("tulle doctor", text); code != kDone) return code;
    }
    if (const auto error = files->write()) return fail("doctor", *error, kRunFailed);
    return works ? kDone : kRunFailed;
}

int examine(const std::string& json) {
    std::vector<Finding> findings = {look_for_libraries(), look_at_memory(), look_at_sockets(),
                                     look_at_reach(), look_at_processors()};
    for (Finding& finding : look_at_wire()) findings.push_back(std::move(finding));
    findings.push_back(look_for_adapters());
    bool fails = false;
    for (const Finding& finding : findings) fails = fails || finding.kind == Finding::Kind::fails;
    return print_findings(
        findings, fails ? "tulle run will not work here." : "tulle run will work here.", json);
}

// Checks that one program finds all symbols it needs. A missing symbol is usually one of ours: the
// program was built for a newer rdma-core than this one implements.
int examine_program(const std::string& program, const std::string& json) {
    const auto folder = library_folder();
    if (!folder) return fail("doctor", folder.error(), kRunFailed);
    const auto missing = missing_imports(program, environment_for(*folder, {}));
    if (!missing) return fail("doctor", missing.error(), kInputWrong);
    std::vector<Finding> findings;
    for (const std::string& sentence : *missing)
        findings.push_back({Finding::Kind::fails, sentence});
    if (!findings.empty())
        return print_findings(
            findings, fmt::format("{} will not run on the libraries of {}.", program, *folder),
            json);
    findings.push_back(
        {Finding::Kind::works,
         fmt::format("{} finds all that it asks for in the libraries of {}", program, *folder)});
    return print_findings(findings, "", json);
}

}  // namespace

void add_doctor(Command& program) {
    Command command = program.add_command("doctor", "Check what `tulle run` needs on this machine");
    command.add_examples(R"(Examples:
  tulle doctor                checks this machine
  tulle doctor ib_write_bw    checks the functions that this program needs
  tulle doctor --json -       the same for programs)");
    const auto examined = std::make_shared<std::string>();
    const auto json = std::make_shared<std::string>();
    command.option("PROGRAM", *examined, "Check the library functions that this program needs", {});
    command.option("--json", *json, "Write the findings as JSON; - is standard output",
                   {.shown = "FILE"});
    command.when_chosen([examined, json] {
        return examined->empty() ? examine(*json) : examine_program(*examined, *json);
    });
}

}  // namespace tulle::cli
