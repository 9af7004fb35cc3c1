#include "cli/doctor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/run/environment.h"
#include "cli/run/imports.h"
#include "live/meeting.h"
#include "live/shared_memory.h"
#include "live/udp_sockets.h"

namespace tulle::cli {
namespace {

namespace fs = std::filesystem;

// What was found: `works` is needed, `helps` only makes things faster or better.
struct Finding {
    enum class Kind { works, helps, fails } kind;
    std::string what;
};

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

// Whether a child's memory can be read, as that of another program of this user would be.
Finding look_at_reach() {
    const uint64_t word = 0x7475'6c6c'65;
    int ready[2];
    if (pipe2(ready, O_CLOEXEC) != 0) return {Finding::Kind::helps, "no pipe to try with"};
    const pid_t child = fork();
    if (child == 0) {
        close(ready[1]);
        char end = 0;
        const bool done = read(ready[0], &end, 1) >= 0;  // until the parent has looked
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

// For `tulle run --listen`: RoCE v2 has one port, which the kernel's own RoCE takes for itself.
Finding look_at_port() {
    std::error_code error;
    const bool has_rxe = fs::exists("/sys/module/rdma_rxe", error);
    live::UdpAddress loopback;
    loopback.gid = wire::gid_of(wire::Ipv4Address{{127, 0, 0, 1}});
    if (const auto opened = live::UdpSockets::open({loopback}); !opened)
        return {Finding::Kind::helps, "--listen may not work: " + opened.error().message};
    if (has_rxe)
        return {Finding::Kind::helps,
                "--listen may not work: rdma_rxe is loaded, and takes UDP "
                "port 4791 of interfaces that it is added to"};
    return {Finding::Kind::works, "--listen can open UDP port 4791"};
}

// What the kernel keeps for a socket that has no time to read: fewer packets may be under way.
Finding look_at_buffers() {
    constexpr uint32_t kEnough = 128;
    const uint32_t window = live::UdpSockets::window();
    if (window >= kEnough)
        return {Finding::Kind::works, "receive buffers hold what --listen has under way"};
    return {Finding::Kind::helps,
            fmt::format("--listen has no more than {} packets under way: net.core.rmem_max is "
                        "small; `sysctl net.core.rmem_max=4194304` gives it room",
                        window)};
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

int examine() {
    bool fails = false;
    for (const Finding& finding :
         {look_for_libraries(), look_at_memory(), look_at_sockets(), look_at_reach(),
          look_at_processors(), look_at_port(), look_at_buffers(), look_for_adapters()}) {
        const char* mark = finding.kind == Finding::Kind::works   ? "yes "
                           : finding.kind == Finding::Kind::helps ? "slow"
                                                                  : "no  ";
        fmt::print("{}  {}\n", mark, finding.what);
        fails = fails || finding.kind == Finding::Kind::fails;
    }
    fmt::print("\n{}\n", fails ? "tulle run will not work here." : "tulle run will work here.");
    return fails ? kRunFailed : kDone;
}

// Whether one program finds all that it asks for. A name that is missing is one of ours as a rule:
// the program is for an rdma-core that is newer than what we know.
int examine_program(const std::string& program) {
    const auto folder = library_folder();
    if (!folder) {
        fmt::print(stderr, "tulle doctor: {}\n", folder.error().message);
        return kRunFailed;
    }
    const auto missing = missing_imports(program, environment_for(*folder, {}));
    if (!missing) {
        fmt::print(stderr, "tulle doctor: {}\n", missing.error().message);
        return kInputWrong;
    }
    for (const std::string& sentence : *missing) fmt::print("no    {}\n", sentence);
    if (missing->empty())
        fmt::print("yes   {} finds all that it asks for in the libraries of {}\n", program,
                   *folder);
    else
        fmt::print("\n{} will not run on the libraries of {}.\n", program, *folder);
    return missing->empty() ? kDone : kRunFailed;
}

}  // namespace

void add_doctor(Command& program) {
    Command command =
        program.add_command("doctor", "Say what of `tulle run` will work on this machine");
    const auto examined = std::make_shared<std::string>();
    command.option("PROGRAM", *examined, "Look at what this program asks of libraries, instead",
                   {});
    command.when_chosen(
        [examined] { return examined->empty() ? examine() : examine_program(*examined); });
}

}  // namespace tulle::cli
